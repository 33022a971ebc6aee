import type { OAuthClient } from '../api/contract.ts'
import { daysLater, type WallClock } from '../api/time.ts'

const DAY_MS = 86_400_000
/** A client that expires within this is marked wherever it is shown. */
export const SOON_DAYS = 30

type Dated = Pick<OAuthClient, 'expiresAt'>

export const hasExpired = ({ expiresAt }: Dated, now: Date): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= now.getTime()

/** Whether it expires within 30 days, or already has. */
export const expiresSoon = ({ expiresAt }: Dated, now: Date): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= now.getTime() + SOON_DAYS * DAY_MS

/** How long a new client lives: 'never' ends, so many days, or until the end of a 'date'. */
export type Lifetime = 'never' | 'date' | number

export interface Expiry {
  lifetime: Lifetime
  /** As a date input has it, "2027-01-31". Empty unless the lifetime is 'date'. */
  date: string
}

/** The lifetime that a client was created with, in whole days. */
export const clientLifetime = ({ createdAt, expiresAt }: Dated & Pick<OAuthClient, 'createdAt'>): Lifetime =>
  expiresAt === null
    ? 'never'
    : Math.max(1, Math.round((Date.parse(expiresAt) - Date.parse(createdAt)) / DAY_MS))

/** The first day that can be chosen, as a date input has it. The API says which is the last. */
export const firstDay = ({ isoDate }: WallClock, now: Date): string => daysLater(isoDate(now), 1)

/** Returns the end of so many days. */
export const daysFrom = (now: Date, days: number): Date => new Date(now.getTime() + days * DAY_MS)

/** Returns when a client created now expires (RFC 3339), undefined if never. A date lasts until its end. */
export async function expiresAt(
  { lifetime, date }: Expiry,
  zone: string,
  now: Date,
): Promise<string | undefined> {
  if (lifetime === 'never') return undefined
  if (lifetime !== 'date') return daysFrom(now, lifetime).toISOString()
  const { midnight } = await import('../api/midnight.ts')
  return new Date(midnight(daysLater(date, 1), zone).getTime() - 1_000).toISOString()
}
