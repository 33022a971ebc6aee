import { z } from 'zod'
import { CLIENT_ID_PATTERN, USER_ID_PATTERN } from '#shared/oauth/ids.ts'
import { cursorTime, nextCursor, page, pageParameters } from '../http/page.ts'
import { route } from '../http/route.ts'
import { canView } from '../people/access.ts'
import type { UsageStores } from '../usage/windows.ts'
import { OAuthClient, readClientAnswers } from './client.ts'
import { listClients } from './records.ts'

const ClientPage = z.object({ clients: z.array(OAuthClient), nextCursor }).meta({ id: 'OAuthClientPage' })

const position = z.tuple([cursorTime, z.string().regex(CLIENT_ID_PATTERN)])

const ClientQuery = z.strictObject({
  ...pageParameters(position),
  status: z
    .enum(['Active', 'Revoked'], 'must be Active or Revoked')
    .optional()
    .meta({ description: 'Only clients of this status.' }),
  secretFound: z
    .enum(['true'], 'must be true')
    .optional()
    .meta({ description: 'Only clients whose secret was reported.' }),
  createdBy: z
    .string()
    .regex(USER_ID_PATTERN, 'must be the id of a person')
    .optional()
    .meta({ description: 'Only clients that this person created, even if they left the company since.' }),
})

export const listClientsRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/oauth-clients',
  operationId: 'listClients',
  tag: 'Clients',
  summary: 'List the clients of a company, newest first',
  description: 'Includes Active and Revoked clients; filter with `status`, `secretFound` and `createdBy`.',
  access: canView,
  query: ClientQuery,
  answers: { 200: { description: 'A page of clients.', schema: ClientPage } },
  async handle({ vendorId, query: { limit, cursor, status, secretFound, createdBy } }, stores: UsageStores) {
    const records = await listClients(stores.db, {
      vendorId,
      status,
      secretFound: secretFound !== undefined,
      createdBy,
      after: cursor && { position: cursor[0], clientId: cursor[1] },
      limit: limit + 1,
    })
    const { rows, nextCursor } = page(records, limit, ({ position, clientId }) => [position, clientId])
    return { clients: await readClientAnswers(stores, vendorId, rows), nextCursor }
  },
})
