import { createHash } from 'node:crypto'
import { normalizedEmail } from '#shared/accounts/people.ts'
import { Problem } from '#shared/problems/problems.ts'
import { addressSubject, type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import type { ApiContext } from '../http/state.ts'

export interface SignInLimits {
  /** Attempts on one account from one address. */
  perAccount: RateLimit
  /** Attempts from one address, and from the IPv6 networks around it. */
  perAddress: { 64: RateLimit; 56: RateLimit; 48: RateLimit }
  /** Attempts on one account from all addresses that its owner has not recently signed in from. */
  strangersPerAccount: RateLimit
}

/**
 * Counts an attempt against the limits of its address. Every attempt counts, right or wrong, whether or not the account
 * exists, so the limits reveal nothing about it.
 * @throws Problem rate_limited
 */
export async function countAttempt(ctx: ApiContext, limits: SignInLimits, email: string): Promise<void> {
  await countAddress(ctx, limits)
  // Accounts are counted per address, so a stranger cannot lock the owner out.
  await count(ctx, limits.perAccount, accountSubject(email, addressSubject(ctx.state.request.clientAddress)))
}

/** Counts a sign-in's start against the limits of its address. @throws Problem rate_limited */
export async function countAddress(ctx: ApiContext, limits: Pick<SignInLimits, 'perAddress'>): Promise<void> {
  const { clientAddress } = ctx.state.request
  for (const bits of clientAddress.includes(':') ? ([64, 56, 48] as const) : ([64] as const)) {
    await count(ctx, limits.perAddress[bits], addressSubject(clientAddress, bits))
  }
}

/**
 * Refuses an address unknown to the account once such addresses have used up their failed attempts.
 * @throws Problem rate_limited
 */
export async function refuseStranger(ctx: ApiContext, limits: SignInLimits, email: string): Promise<void> {
  const verdict = await limits.strangersPerAccount.consume(accountSubject(email), 0)
  if (verdict.remaining > 0) return
  ctx.set(rateLimitHeaders({ ...verdict, allowed: false }))
  throw tooMany()
}

/** Counts a failed attempt from an address unknown to the account. */
export async function countFailure(limits: SignInLimits, email: string): Promise<void> {
  await limits.strangersPerAccount.consume(accountSubject(email))
}

const tooMany = (): Problem => new Problem('rate_limited', 'Too many sign-in attempts.')

/** Strangers can make any number of these, and each stays in Redis for a day: 96 bits are enough. */
const ACCOUNT_SUBJECT_CHARACTERS = 16

const accountSubject = (email: string, address = ''): string =>
  createHash('sha256')
    .update(`${normalizedEmail(email)} ${address}`)
    .digest('base64url')
    .slice(0, ACCOUNT_SUBJECT_CHARACTERS)

async function count(ctx: ApiContext, limit: RateLimit, subject: string): Promise<void> {
  const verdict = await limit.consume(subject)
  if (verdict.allowed) return
  ctx.set(rateLimitHeaders(verdict))
  throw tooMany()
}
