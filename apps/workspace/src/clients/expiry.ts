import type { OAuthClient } from '../api/contract.ts'
import { daysApart, daysLater, type WallClock } from '../api/time.ts'

const DAY_MS = 86_400_000
/** A client that expires within this is marked wherever it is shown. */
export const SOON_DAYS = 30

type Dated = Pick<OAuthClient, 'expiresAt'>

export const hasExpired = ({ expiresAt }: Dated, now: Date): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= now.getTime()

/** Whether it expires within 30 days, or already has. */
export const expiresSoon = ({ expiresAt }: Dated, now: Date): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= now.getTime() + SOON_DAYS * DAY_MS

/** Returns the end of so many days. */
export const daysFrom = (now: Date, days: number): Date => new Date(now.getTime() + days * DAY_MS)

/** Returns a day ahead, as a date input has it. The API says which is the last that can be chosen. */
export const dayAhead = ({ isoDate }: WallClock, now: Date, days = 1): string =>
  daysLater(isoDate(now), Math.max(1, days))

/** In place of the last day of a client that does not expire. */
export const NEVER = 'never'

/** Returns the last day of a client that works for as many days as this one. */
export function lastDayOfReplacement(
  { createdAt, expiresAt }: Pick<OAuthClient, 'createdAt' | 'expiresAt'>,
  clock: WallClock,
  now: Date,
): string {
  if (expiresAt === null) return NEVER
  const [first, last] = [createdAt, expiresAt].map((at) => clock.isoDate(new Date(at))) as [string, string]
  return dayAhead(clock, now, daysApart(first, last))
}

/** Returns the end of a day in a time zone (RFC 3339). */
export async function endOfDay(date: string, zone: string): Promise<string> {
  const { midnight } = await import('../api/midnight.ts')
  return new Date(midnight(daysLater(date, 1), zone).getTime() - 1_000).toISOString()
}
