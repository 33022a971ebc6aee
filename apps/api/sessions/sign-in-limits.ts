import { createHash } from 'node:crypto'
import { type RateLimit, type RateLimitVerdict, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { normalizedEmail } from '../accounts/people.ts'
import type { ApiContext } from '../http/state.ts'
import { Problem } from '../problems/problems.ts'
import { type AddressLimits, consumeAddress } from '../stores/address-limits.ts'

export interface SignInLimits {
  /** Attempts on one account from one address, or from one browser that the account knows. */
  perAccount: RateLimit
  /** Attempts from one address, and from the IPv6 networks around it. */
  perAddress: AddressLimits
  /** Failed attempts on one account from wherever its owner has not recently signed in. */
  strangersPerAccount: RateLimit
  /** Requests for a new password of one account; and by user id, changes of it. Each is mailed. */
  resetsPerAccount: RateLimit
}

/**
 * Counts an attempt on an account from one address or browser. Every attempt counts, right or wrong, whether
 * or not the account exists, so the limits reveal nothing about it. A stranger elsewhere cannot lock the
 * owner out.
 * @throws Problem rate_limited
 */
export async function countAttempt(
  limits: SignInLimits,
  { email, address }: { email: string; address: string },
): Promise<void> {
  await countOrRefuse(limits.perAccount, accountSubject(email, address))
}

/** Counts a sign-in's start against the limits of its address. @throws Problem rate_limited */
export async function countAddress(ctx: ApiContext, limits: Pick<SignInLimits, 'perAddress'>): Promise<void> {
  const verdict = await consumeAddress(limits.perAddress, ctx.state.request.clientAddress)
  if (!verdict.allowed) throw tooMany(verdict)
}

/**
 * Counts a request for a new password, whether or not there is such an account.
 * @throws Problem rate_limited
 */
export async function countResetRequest(ctx: ApiContext, limits: SignInLimits, email: string): Promise<void> {
  await countAddress(ctx, limits)
  await countOrRefuse(limits.resetsPerAccount, accountSubject(email), 'Too many requests for a new password.')
}

/** Returns undefined while strangers may try an account, or else the problem. */
export async function refuseStrangers(limits: SignInLimits, email: string): Promise<Problem | undefined> {
  const verdict = await limits.strangersPerAccount.consume(strangersSubject(email), 0)
  return verdict.allowed ? undefined : tooMany(verdict)
}

/** Counts a failed attempt of a stranger. */
export async function countStrangerFailure(limits: SignInLimits, email: string): Promise<void> {
  await limits.strangersPerAccount.consume(strangersSubject(email))
}

/** Counts a new password: its refusal tells that another account has it. @throws Problem rate_limited */
export async function countGuessAtOthers(limits: SignInLimits, email: string): Promise<void> {
  // Apart from strangers' failures, or they could keep someone who is signed in from changing a password.
  const subject = strangersSubject(`new passwords of ${email}`)
  await countOrRefuse(limits.strangersPerAccount, subject, 'Too many new passwords for this address.')
}

/** Counts a change of password, because each sends a mail to the address. @throws Problem rate_limited */
export async function countPasswordChange(limits: SignInLimits, userId: string): Promise<void> {
  await countOrRefuse(limits.resetsPerAccount, userId, 'Too many changes of this password.')
}

async function countOrRefuse(limit: RateLimit, subject: string, detail?: string): Promise<void> {
  const verdict = await limit.consume(subject)
  if (!verdict.allowed) throw tooMany(verdict, detail)
}

const tooMany = (verdict: RateLimitVerdict, detail = 'Too many sign-in attempts.'): Problem =>
  new Problem('rate_limited', detail, { headers: rateLimitHeaders(verdict) })

/** 96 bits: too many for two accounts to share. */
const ACCOUNT_SUBJECT_CHARACTERS = 16
/**
 * Strangers can make up any number of accounts, and each count stays in Redis for a day. So accounts, those
 * that do not exist included, share 64³ counters. For one in a thousand of these to reach 100 by chance, more
 * than 17 million guesses a day are needed.
 */
const STRANGERS_SUBJECT_CHARACTERS = 3

const strangersSubject = (email: string): string =>
  accountSubject(email).slice(0, STRANGERS_SUBJECT_CHARACTERS)

const accountSubject = (email: string, address = ''): string =>
  createHash('sha256')
    .update(`${normalizedEmail(email)} ${address}`)
    .digest('base64url')
    .slice(0, ACCOUNT_SUBJECT_CHARACTERS)
