import type { LogRoot } from '#shared/accounts/activity-log.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { Redis } from '#shared/stores/redis.ts'
import type { Manager } from '../http/manager.ts'
import type { Access } from '../http/route.ts'

/** Returns the receipt of a revocation as a JWS, which says after which head of the activity log it comes. */
export type SignReceipt = (
  act: { action: 'client.revoked'; subject: string; vendorId: string; userId: string },
  head: LogRoot | undefined,
) => Promise<string>

/** Dependencies of the client routes. */
export interface ClientDependencies {
  db: Database
  redis: Redis
  clock: Clock
  revocation: Revocation
  manager: Access<Manager>
  /** Undefined without a LOG_SIGNING_KEY. */
  signReceipt: SignReceipt | undefined
  creationsPerCompany: RateLimit
}
