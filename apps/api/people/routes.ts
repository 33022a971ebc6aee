import type { Route } from '../http/route.ts'
import { deletePerson } from './delete-person.ts'
import type { PeopleDependencies } from './dependencies.ts'
import { getPeople } from './get-people.ts'
import { patchPerson } from './patch-person.ts'
import { postPerson } from './post-person.ts'

export const createPeopleRoutes = (deps: PeopleDependencies): Route[] => [
  getPeople(deps),
  postPerson(deps),
  patchPerson(deps),
  deletePerson(deps),
]
