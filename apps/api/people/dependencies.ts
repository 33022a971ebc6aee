import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Manager } from '../http/manager.ts'
import type { Access } from '../http/route.ts'

/** Dependencies of the people routes. */
export interface PeopleDependencies {
  db: Database
  clock: Clock
  manager: Access<Manager>
  /** Allows only the owner, for what changes something. */
  owner: Access<Manager>
  /** The workspace's base URL, for invitation links. */
  baseUrl: string
  /** Whether people can accept invitations. */
  builtInAccounts: boolean
}
