import { route } from '../http/route.ts'
import { canView } from '../people/access.ts'
import type { UsageStores } from '../usage/windows.ts'
import { OAuthClient, readClientAnswer, requireClient } from './client.ts'

export const readClientRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/oauth-clients/:clientId',
  operationId: 'readClient',
  tag: 'Clients',
  summary: 'Read a client',
  description: 'The secret is never shown again, only its last four characters.',
  access: canView,
  answers: { 200: { description: 'The client.', schema: OAuthClient } },
  problems: ['not_found'],
  async handle({ vendorId, params }, stores: UsageStores) {
    const client = await requireClient(stores.db, vendorId, params.clientId)
    return readClientAnswer(stores, vendorId, client)
  },
})
