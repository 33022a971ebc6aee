import type { Route } from '../http/route.ts'
import type { ClientDependencies } from './dependencies.ts'
import { getClient } from './get-client.ts'
import { getClients } from './get-clients.ts'
import { getIssuers } from './get-issuers.ts'
import { getRotation } from './get-rotation.ts'
import { getUsage } from './get-usage.ts'
import { patchClient } from './patch-client.ts'
import { postClient } from './post-client.ts'
import { postRevoke } from './post-revoke.ts'
import { putIssuer } from './put-issuer.ts'

export const createClientRoutes = (deps: ClientDependencies): Route[] => [
  getClients(deps),
  postClient(deps),
  getClient(deps),
  patchClient(deps),
  getUsage(deps),
  getRotation(deps),
  postRevoke(deps),
  getIssuers(deps),
  putIssuer(deps),
]
