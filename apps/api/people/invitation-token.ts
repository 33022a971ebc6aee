import { z } from 'zod'
import { hashSecret, INVITATION_TOKEN_PATTERN } from '#shared/oauth/ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { addressSubject, type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import type { ApiContext } from '../http/state.ts'
import { Problem } from '../problems/problems.ts'
import { requireUnfencedDatabase } from '../sessions/fence.ts'
import { findInvitation, INVITATION_LIFETIME_HOURS } from './invitations.ts'

export const invitationToken = z.string('must be a string').max(100, 'must be the token of an invitation')

const TOKEN = new RegExp(`^${INVITATION_TOKEN_PATTERN.source}$`)

export interface InvitationNeeds {
  db: Database
  clock: Clock
  /** Counts invalid tokens by address. */
  sessionGuessesPerAddress: RateLimit
}

/**
 * Returns the invitation of a token.
 * @throws Problem invitation_not_valid, rate_limited after too many, or unavailable while a restored database
 * is unconfirmed.
 */
export async function requireInvitation(
  ctx: ApiContext,
  { db, clock, sessionGuessesPerAddress: guessesPerAddress }: InvitationNeeds,
  token: string,
) {
  const tokenHash = hashSecret(token)
  const now = new Date(clock.now())
  const invitation = TOKEN.test(token) && (await findInvitation(db, { tokenHash, now }))
  if (invitation) {
    await requireUnfencedDatabase(db)
    return { ...invitation, tokenHash }
  }
  const guesses = await guessesPerAddress.consume(addressSubject(ctx.state.request.clientAddress))
  if (guesses.allowed) throw invitationNotValid()
  throw new Problem('rate_limited', 'Too many invalid invitation tokens from this address.', {
    headers: rateLimitHeaders(guesses),
  })
}

export const invitationNotValid = (): Problem =>
  new Problem(
    'invitation_not_valid',
    `The link was used, withdrawn or replaced, or is older than ${INVITATION_LIFETIME_HOURS} hours.`,
  )
