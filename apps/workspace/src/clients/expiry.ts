import type { OAuthClient } from '../api/contract.ts'
import { daysLater, isoDate, midnight } from '../api/time.ts'

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
export const firstDay = (now: Date): string => daysLater(isoDate(now), 1)

/** When a client created now expires (RFC 3339), undefined if never. A date lasts until its end. */
export function expiresAt({ lifetime, date }: Expiry, now: Date): string | undefined {
  if (lifetime === 'never') return undefined
  const at_ms = lifetime === 'date' ? toLastSecond(date).getTime() : now.getTime() + lifetime * DAY_MS
  return new Date(at_ms).toISOString()
}

const toLastSecond = (date: string): Date => new Date(midnight(daysLater(date, 1)).getTime() - 1_000)
