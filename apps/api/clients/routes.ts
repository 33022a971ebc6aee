import type { z } from 'zod'
import { appendActivity } from '#shared/activity.ts'
import { type ClientRecord, findClient, listClients, markClientRevoked } from '#shared/oauth/clients.ts'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import { Problem } from '#shared/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { body } from '../http/body.ts'
import { documented } from '../http/documented.ts'
import { query, requestHeaders } from '../http/input.ts'
import { page } from '../http/page.ts'
import { createRouter } from '../http/routes.ts'
import { actorOf } from '../http/schemas.ts'
import type { ApiContext, ApiMiddleware, ApiRouter } from '../http/state.ts'
import { createClient } from './create.ts'
import { Client, ClientPage, ClientQuery, CreatedClient, CreationHeaders, NewClient } from './schemas.ts'
import { type ClientUsage, readUsage } from './usage.ts'

export interface ClientDependencies {
  db: Database
  redis: Redis
  clock: Clock
  revocation: Revocation
  manager: ApiMiddleware
}

export function createClientRoutes({ db, redis, clock, revocation, manager }: ClientDependencies): ApiRouter {
  const list: ApiMiddleware = async (ctx) => {
    const { limit, cursor, status } = ctx.state.query as z.infer<typeof ClientQuery>
    const after = cursor && { position: cursor[0], clientId: cursor[1] }
    const records = await listClients(db, { vendorId: vendorOf(ctx), status, after, limit: limit + 1 })
    const { rows, nextCursor } = page(records, limit, ({ position, clientId }) => [position, clientId])
    ctx.body = { clients: await withUsage(rows), nextCursor }
  }

  const create: ApiMiddleware = async (ctx) => {
    const { name, scopes } = ctx.state.body as z.infer<typeof NewClient>
    const { 'Idempotency-Key': idempotencyKey } = ctx.state.headers as z.infer<typeof CreationHeaders>
    const vendorId = vendorOf(ctx)
    const at = new Date(clock.now())
    const { client, clientSecret } = await createClient(db, {
      vendorId,
      userId: userOf(ctx),
      name,
      scopes,
      idempotencyKey,
      at,
    })
    ctx.status = clientSecret === undefined ? 200 : 201
    ctx.set('Location', `/v1/vendor/${vendorId}/oauth-clients/${client.clientId}`)
    // Nothing that can fail may stand between a new client and its secret, which exists nowhere else.
    ctx.body =
      clientSecret === undefined
        ? (await withUsage([client]))[0]
        : { ...shown(client, undefined), clientSecret }
  }

  const get: ApiMiddleware = async (ctx) => {
    const client = await findClient(db, { vendorId: vendorOf(ctx), clientId: clientIdOf(ctx) })
    if (!client) throw noSuchClient()
    ctx.body = (await withUsage([client]))[0]
  }

  const revoke: ApiMiddleware = async (ctx) => {
    const vendorId = vendorOf(ctx)
    const clientId = clientIdOf(ctx)
    const userId = userOf(ctx)
    const client = await revocation.revoke({ kind: 'client', id: clientId }, async (transaction) => {
      const changed = await markClientRevoked(transaction, { vendorId, clientId, revokedBy: userId })
      const record = await findClient(transaction, { vendorId, clientId })
      if (!record) throw noSuchClient()
      if (changed) {
        const detail = { name: record.name }
        await appendActivity(transaction, {
          vendorId,
          userId,
          action: 'client.revoked',
          subject: clientId,
          detail,
        })
      }
      return record
    })
    ctx.body = (await withUsage([client]))[0]
  }

  async function withUsage(records: readonly ClientRecord[]) {
    const clientIds = records.map(({ clientId }) => clientId)
    const used = await readUsage({ redis, db, clock }, clientIds)
    return records.map((record) => shown(record, used.get(record.clientId)))
  }

  return createRouter()
    .get(
      '/v1/vendor/:vendorId/oauth-clients',
      manager,
      query(ClientQuery),
      documented(list, {
        tag: 'Clients',
        summary: 'List the clients of a company, newest first',
        answers: { 200: { description: 'A page of clients.', schema: ClientPage } },
      }),
    )
    .post(
      '/v1/vendor/:vendorId/oauth-clients',
      manager,
      body(NewClient),
      requestHeaders(CreationHeaders),
      documented(create, {
        tag: 'Clients',
        summary: 'Create a client',
        description: 'The secret is in this answer and in no other. A company may have 100 active clients.',
        answers: {
          200: { description: 'The client that this Idempotency-Key made before.', schema: Client },
          201: { description: 'The new client with its secret.', schema: CreatedClient },
        },
        problems: ['client_limit_reached', 'idempotency_in_progress', 'idempotency_key_reused'],
      }),
    )
    .get(
      '/v1/vendor/:vendorId/oauth-clients/:clientId',
      manager,
      documented(get, {
        tag: 'Clients',
        summary: 'Get a client',
        answers: { 200: { description: 'The client.', schema: Client } },
        problems: ['not_found'],
      }),
    )
    .post(
      '/v1/vendor/:vendorId/oauth-clients/:clientId/revoke',
      manager,
      documented(revoke, {
        tag: 'Clients',
        summary: 'Revoke a client, for ever',
        description:
          'Once this has answered, every request of the client and of its tokens that arrives later is refused. ' +
          'To revoke it again answers the same.',
        answers: { 200: { description: 'The client, now Revoked.', schema: Client } },
        problems: ['not_found'],
      }),
    )
}

const vendorOf = (ctx: ApiContext): string => ctx.state.vendorId as string
const userOf = (ctx: ApiContext): string => ctx.state.session?.userId as string

const noSuchClient = (): Problem => new Problem('not_found', 'The company has no such client.')

function clientIdOf(ctx: ApiContext): string {
  const { clientId = '' } = ctx.params
  if (!CLIENT_ID_PATTERN.test(clientId)) throw noSuchClient()
  return clientId
}

function shown(record: ClientRecord, used: ClientUsage | undefined): z.infer<typeof Client> {
  const { clientId, name, scopes, status, createdAt, revokedAt } = record
  return {
    clientId,
    name,
    scopes,
    status,
    createdAt: createdAt.toISOString(),
    createdBy: actorOf(record.createdBy, record.createdByName),
    revokedAt: revokedAt?.toISOString() ?? null,
    revokedBy: revokedAt && actorOf(record.revokedBy, record.revokedByName),
    lastUsedAt: used?.lastUsedAt?.toISOString() ?? null,
    tokensIssued24h: used?.tokensIssued24h ?? 0,
  }
}
