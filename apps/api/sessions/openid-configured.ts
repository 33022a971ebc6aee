import { Problem } from '#shared/problems/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { Access } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import type { SessionCookie } from './cookie.ts'
import { createOpenidProvider } from './openid-provider.ts'
import type { OpenidSettings } from './openid-settings.ts'
import { createOpenidTransactions } from './openid-transaction.ts'
import type { SignInLimits } from './sign-in-limits.ts'

export const CALLBACK_PATH = '/v1/session/openid/callback'

export interface OpenidDependencies {
  db: Database
  clock: Clock
  cookie: SessionCookie
  limits: Pick<SignInLimits, 'perAddress'>
  /** Counts logout tokens that cannot be trusted by address. */
  guessesPerAddress: RateLimit
  /** Lets each `state` through once, and each `jti` of a logout token. */
  openidOnce: RateLimit
  /** undefined: people only sign in with built-in accounts. */
  openid: OpenidSettings | undefined
  builtInAccounts: boolean
  /** The workspace's URL. */
  baseUrl: string
}

/** The OpenID provider that people sign in with. */
export type ConfiguredOpenid = NonNullable<ReturnType<typeof configuredOpenid>>

/** Returns undefined if no provider is configured. */
export const configuredOpenid = ({ db, clock, openid: settings, baseUrl }: OpenidDependencies) =>
  settings && {
    settings,
    provider: createOpenidProvider({ settings, clock, baseUrl, redirectUri: baseUrl + CALLBACK_PATH }),
    transactions: createOpenidTransactions({ db, clock, baseUrl, issuer: settings.issuer }),
  }

/** Admits anyone whom `check` does not refuse, where a provider is configured. */
export const whereConfigured = (
  configured: ConfiguredOpenid | undefined,
  check: (ctx: ApiContext) => void = () => {},
): Access<{ configured: ConfiguredOpenid }> => ({
  async admit(ctx) {
    if (!configured) throw new Problem('not_found', 'No OpenID provider is configured here.')
    check(ctx)
    return { configured }
  },
  problems: ['not_found'],
})
