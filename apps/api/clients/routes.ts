import type { Route } from '../http/route.ts'
import type { ClientDependencies } from './dependencies.ts'
import { getClient } from './get-client.ts'
import { getClients } from './get-clients.ts'
import { getRequests } from './get-requests.ts'
import { getRotation } from './get-rotation.ts'
import { getUsage } from './get-usage.ts'
import { patchClient } from './patch-client.ts'
import { patchRotation } from './patch-rotation.ts'
import { postClient } from './post-client.ts'
import { postRevoke } from './post-revoke.ts'

export const createClientRoutes = (deps: ClientDependencies): Route[] => [
  getClients(deps),
  postClient(deps),
  getClient(deps),
  patchClient(deps),
  getUsage(deps),
  getRequests(deps),
  getRotation(deps),
  patchRotation(deps),
  postRevoke(deps),
]
