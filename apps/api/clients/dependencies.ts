import type { Clock } from '#shared/process/clock.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { Redis } from '#shared/stores/redis.ts'
import type { Manager } from '../http/manager.ts'
import type { Access } from '../http/route.ts'
import type { fetchInTurn } from './issuer-keys.ts'

/** Dependencies of the client routes. */
export interface ClientDependencies {
  db: Database
  redis: Redis
  clock: Clock
  revocation: Revocation
  manager: Access<Manager>
  /** As manager, for what changes something. */
  changer: Access<Manager>
  creationsPerCompany: RateLimit
  /** Fetches the public keys of an issuer for a company, in its turn. */
  fetchKeys: ReturnType<typeof fetchInTurn>
}
