/** Why somebody could not sign in with the provider. The workspace has a sentence for each. */
export const OPENID_REFUSALS = [
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
export type OpenidRefusalReason = (typeof OPENID_REFUSALS)[number]

/** A sign-in with the provider that goes no further. */
export class OpenidRefusal extends Error {
  readonly reason: OpenidRefusalReason
  /** What went wrong in detail, for the log: a word, never what anyone sent. */
  readonly about: string | undefined

  constructor(reason: OpenidRefusalReason, about?: string) {
    super(reason)
    this.reason = reason
    this.about = about
  }
}
