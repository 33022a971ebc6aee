import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Manager } from '../http/manager.ts'
import type { Access } from '../http/route.ts'

/** What the routes of people work with. */
export interface PeopleDependencies {
  db: Database
  clock: Clock
  manager: Access<Manager>
  /** The owner alone. */
  owner: Access<Manager>
  /** Of the workspace, for the link of an invitation. */
  baseUrl: string
  /** Whether an invitation could be accepted. */
  builtInAccounts: boolean
}
