import { describeAuthServer } from '../../apps/api/discovery/openapi/auth-server.ts'
import { createDiscovery } from '../../apps/api/discovery/routes.ts'
import { describeApi, ROUTES } from '../../apps/api/routes.ts'
import { createTestClock } from './clock.ts'
import { API_RESOURCE, ISSUER } from './issuer.ts'

const settings = { issuer: ISSUER, apiResource: API_RESOURCE }
const OF_AUTH = Object.keys(describeAuthServer({ issuer: ISSUER, resource: API_RESOURCE }).paths)
const DOCUMENTS = createDiscovery({
  ...settings,
  routes: ROUTES,
  clock: createTestClock(),
  securityContact: 'mailto:a@a.example',
}).router.stack.map(({ path }) => String(path))
/** Both services have them, and no proxy leads there. */
export const HEALTH_PATHS = ['/healthz', '/readyz']

/** The paths in each service's tables, parameters in braces. A test compares auth's with its answers. */
export const SERVED_PATHS: Record<'auth' | 'api', string[]> = {
  auth: [...OF_AUTH, ...HEALTH_PATHS],
  api: [
    ...Object.keys(describeApi(settings).paths).filter((path) => !OF_AUTH.includes(path)),
    ...DOCUMENTS,
    ...HEALTH_PATHS,
  ],
}
