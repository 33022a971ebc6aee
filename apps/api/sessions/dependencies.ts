import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { Access } from '../http/route.ts'
import type { SessionState } from '../http/state.ts'
import type { AccountName } from './account-names.ts'
import type { SessionCookie } from './cookie.ts'
import type { ConfiguredOpenid } from './openid-provider.ts'
import type { PasswordWork } from './password-check.ts'
import type { SignInLimits } from './sign-in-limits.ts'

/** Dependencies of the session routes. */
export interface SessionDependencies {
  db: Database
  clock: Clock
  cookie: SessionCookie
  session: Access<{ session: SessionState }>
  /** A session unused for this long has ended. */
  sessionIdle_ms: number
  builtInAccounts: boolean
  /** Admits anyone, or no one when built-in accounts are off. */
  builtIn: Access<object>
  passwords: PasswordWork
  accountName: AccountName
  limits: SignInLimits
  /** Counts unknown invitation tokens by address. */
  guessesPerAddress: RateLimit
  /** Allows each `state` once. */
  openidOnce: RateLimit
  /** undefined: people only sign in with built-in accounts. */
  openid: ConfiguredOpenid | undefined
  /** The workspace's URL. */
  baseUrl: string
}
