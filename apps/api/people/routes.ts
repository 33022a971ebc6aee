import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Manager } from '../http/manager.ts'
import type { Access, Route } from '../http/route.ts'
import { deletePerson } from './delete-person.ts'
import { getPeople } from './get-people.ts'
import { patchPerson } from './patch-person.ts'
import { postPerson } from './post-person.ts'

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

export const createPeopleRoutes = (deps: PeopleDependencies): Route[] => [
  getPeople(deps),
  postPerson(deps),
  patchPerson(deps),
  deletePerson(deps),
]
