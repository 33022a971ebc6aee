import type { Database } from '#shared/stores/postgres.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import type { FairQueue } from '../http/fair-queue.ts'
import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'
import { Problem } from '../problems/problems.ts'
import type { UsageStores } from '../usage/windows.ts'
import { type FetchIssuerKeys, findIssuerKeys } from '../workload/issuer-of-client.ts'
import { clientAnswer, oneClientAnswer } from './client-answer.ts'
import { createClient } from './create.ts'
import { CreatedOAuthClient, CreationHeaders, OAuthClientInput } from './schemas.ts'

interface CreationNeeds extends UsageStores {
  db: Database
  /** People of a company take turns. */
  companyTurns: FairQueue
  fetchIssuerKeys: FetchIssuerKeys
  clientCreationsPerCompany: RateLimit
}

export const postClient = route({
  method: 'post',
  path: '/v1/vendor/:vendorId/oauth-clients',
  // An issuer may take five seconds to publish its keys, and the company's turn comes after that.
  deadline: 'own',
  operationId: 'createClient',
  tag: 'Clients',
  summary: 'Create a client',
  description:
    'Only this response contains the secret. With `publicKey` there is none: the client signs assertions (RFC 7523); nor with `workload`: it sends a token of its platform. How it authenticates and when it expires never change. A company can have 100 active clients.',
  by: canRead,
  body: OAuthClientInput,
  headers: CreationHeaders,
  answers: {
    200: {
      description:
        'The client that an earlier request with this Idempotency-Key created, without its secret.',
      schema: CreatedOAuthClient,
      headers: ['Location'],
    },
    201: {
      description: 'The new client, with its secret if it has one.',
      schema: CreatedOAuthClient,
      headers: ['Location'],
    },
  },
  problems: ['client_limit_reached', 'idempotency_in_progress', 'idempotency_key_reused', 'rate_limited'],
  async handle(
    { vendorId, session, body, headers },
    { db, redis, clock, companyTurns, fetchIssuerKeys, clientCreationsPerCompany }: CreationNeeds,
    ctx,
  ) {
    // A revoked client stays on the public revocations page for a day, so limit how many a company can create.
    const rate = await clientCreationsPerCompany.consume(vendorId)
    ctx.set(rateLimitHeaders(rate))
    if (!rate.allowed) throw new Problem('rate_limited', 'Too many new clients for this company.')
    const { workload } = body
    const creation = {
      vendorId,
      userId: session.userId,
      name: body.name,
      scopes: body.scopes,
      replaces: body.replaces,
      authenticatesBy:
        body.publicKey ?? (workload && { workload: { issuer: workload.issuer, claims: workload.claims } }),
      issuerKeys: workload && (await findIssuerKeys({ db, fetchIssuerKeys }, vendorId, workload)),
      expiresAt: body.expiresAt,
      idempotencyKey: headers['Idempotency-Key'],
      at: new Date(clock.now()),
    }
    const { client, isNew, clientSecret } = await companyTurns(vendorId, () => createClient(db, creation))
    ctx.set('Location', `/v1/vendor/${vendorId}/oauth-clients/${client.clientId}`)
    if (!isNew) return { ...(await oneClientAnswer({ db, redis, clock }, vendorId, client)), clientSecret }
    ctx.status = 201
    // Nothing that can fail may come between creating a client and returning its secret, which exists nowhere else.
    return { ...clientAnswer(client, undefined, null), clientSecret }
  },
})
