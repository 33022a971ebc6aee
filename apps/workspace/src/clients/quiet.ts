import type { OAuthClient } from '../api/contract.ts'

const DAY_MS = 24 * 3_600_000

/** Returns the end of these days since the last use, or since creation if the client was never used. */
export const quietEnd = (
  { lastUsedAt, createdAt }: Pick<OAuthClient, 'lastUsedAt' | 'createdAt'>,
  days: number,
): Date => new Date(Date.parse(lastUsedAt ?? createdAt) + days * DAY_MS)
