import { z } from 'zod'
import { hashSecret, LINK_TOKEN_PATTERN } from '#shared/oauth/ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { addressSubject, type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import type { ApiContext } from '../http/state.ts'
import { Problem } from '../problems/problems.ts'
import { requireUnfencedDatabase } from './fence.ts'

/* Links that are credentials: their fragment is a token. */

const TOKEN = new RegExp(`^${LINK_TOKEN_PATTERN.source}$`)
const TOKEN_MAX_CHARACTERS = 100

export const linkToken = z.string('must be a string').max(TOKEN_MAX_CHARACTERS, 'must be the token of a link')

export interface LinkNeeds {
  db: Database
  clock: Clock
  /** Counts invalid tokens by address. */
  sessionGuessesPerAddress: RateLimit
}

interface LinkKind<Target> {
  find: (db: Queryable, link: { tokenHash: Buffer; now: Date }) => Promise<Target | undefined>
  notValid: () => Problem
}

/**
 * Returns what a link leads to.
 * @throws Problem of `notValid`, rate_limited after too many, or unavailable while a restored database is
 * unconfirmed.
 */
export async function requireLink<Target extends object>(
  ctx: ApiContext,
  { db, clock, sessionGuessesPerAddress }: LinkNeeds,
  token: string,
  { find, notValid }: LinkKind<Target>,
): Promise<Target & { tokenHash: Buffer }> {
  const tokenHash = hashSecret(token)
  const target = TOKEN.test(token) && (await find(db, { tokenHash, now: new Date(clock.now()) }))
  if (target) {
    await requireUnfencedDatabase(db)
    return { ...target, tokenHash }
  }
  const guesses = await sessionGuessesPerAddress.consume(addressSubject(ctx.state.request.clientAddress))
  if (guesses.allowed) throw notValid()
  throw new Problem('rate_limited', 'Too many invalid links from this address.', {
    headers: rateLimitHeaders(guesses),
  })
}
