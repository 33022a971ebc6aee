import type { ApiContext } from '../http/state.ts'

/** Why a sign-in with the provider failed. The workspace has a sentence for each. */
export const SIGN_IN_REFUSALS = [
  'cancelled',
  'expired',
  'unreachable',
  'not_trusted',
  'no_email',
  'no_company',
  'no_role',
  'account_exists',
  'other_company',
  'removed',
  'suspended',
  'company_full',
  'unavailable',
] as const
type SignInRefusalReason = (typeof SIGN_IN_REFUSALS)[number]

/** A refused sign-in with the provider. */
export class SignInRefusal extends Error {
  readonly reason: SignInRefusalReason
  /** Detail for the log: one word, never anyone's input. */
  readonly about: string | undefined

  constructor(reason: SignInRefusalReason, about?: string) {
    super(reason)
    this.reason = reason
    this.about = about
  }
}

export function logSignInRefusal(ctx: ApiContext, { reason, about }: SignInRefusal): void {
  const { clientAddress } = ctx.state.request
  ctx.state.log.info({ event: 'sign_in.failed', clientAddress, reason, about }, 'sign-in failed')
}
