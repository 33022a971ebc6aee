import type { Clock } from '#shared/process/clock.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import type { Manager } from '../http/manager.ts'
import type { Access, Route } from '../http/route.ts'
import { getClient } from './get-client.ts'
import { getClients } from './get-clients.ts'
import { getUsage } from './get-usage.ts'
import { patchClient } from './patch-client.ts'
import { postClient } from './post-client.ts'
import { postRevoke } from './post-revoke.ts'

export interface ClientDependencies {
  db: Database
  redis: Redis
  clock: Clock
  revocation: Revocation
  manager: Access<Manager>
}

export const createClientRoutes = (deps: ClientDependencies): Route[] => [
  getClients(deps),
  postClient(deps),
  getClient(deps),
  patchClient(deps),
  getUsage(deps),
  postRevoke(deps),
]
