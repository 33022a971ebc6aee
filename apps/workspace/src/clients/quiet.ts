import type { OAuthClient } from '../api/contract.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const plural = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`

/** "3 days 1 hour", "23 hours 54 minutes", "2 minutes". */
export function inWords(hours: number): string {
  const minutes = Math.round(hours * 60)
  if (minutes < 1) return 'less than a minute'
  const [large, small, size] =
    minutes < 48 * 60 ? (['hour', 'minute', 60] as const) : (['day', 'hour', 24] as const)
  const count = size === 60 ? minutes : Math.round(hours)
  const parts = [
    [Math.floor(count / size), large],
    [count % size, small],
  ] as const
  return parts.flatMap(([amount, unit]) => (amount > 0 ? plural(amount, unit) : [])).join(' ')
}

/** Returns the end of these days since the last use, or since creation if the client was never used. */
export const quietEnd = (
  { lastUsedAt, createdAt }: Pick<OAuthClient, 'lastUsedAt' | 'createdAt'>,
  days: number,
): Date => new Date(Date.parse(lastUsedAt ?? createdAt) + days * DAY_MS)
