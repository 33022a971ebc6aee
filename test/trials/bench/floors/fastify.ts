/*
 * What a team would build instead: Fastify with its JWT plugin and that plugin's cache of verified tokens,
 * its rate-limit plugin on Redis, its request log, one lookup of the token, its client and its key in Redis,
 * and the same bytes after the same question to Postgres, which all requests of a turn of the event loop
 * share as ours do.
 */
import { createPublicKey, type JsonWebKey } from 'node:crypto'
import jwt from '@fastify/jwt'
import rateLimit from '@fastify/rate-limit'
import fastify from 'fastify'
import { answers, db, redis, sharedPerTurn } from './daily.ts'

interface Claims {
  client_id: string
  jti: string
  scope: string
  vendor_id: string
}

const { BENCH_ISSUER = '', PORT } = process.env
const REVISIONS = {
  name: 'revisions',
  text: 'select vendor_id, revision from analytics_revisions where vendor_id = any($1)',
}
const askRevision = sharedPerTurn((vendorIds) => db.query({ ...REVISIONS, values: [vendorIds] }))
const { keys } = (await (await fetch(`${BENCH_ISSUER}/v1/oauth/jwks`)).json()) as { keys: JsonWebKey[] }
const pem = createPublicKey({ key: keys[0] as JsonWebKey, format: 'jwk' }).export({
  type: 'spki',
  format: 'pem',
})

const app = fastify({ logger: true })
await app.register(jwt, {
  secret: { private: '', public: String(pem) },
  verify: { algorithms: ['ES256'], allowedIss: BENCH_ISSUER, allowedAud: BENCH_ISSUER, cache: true },
})
await app.register(rateLimit, {
  redis,
  max: 100_000_000,
  timeWindow: '1 minute',
  hook: 'preHandler',
  keyGenerator: ({ user }) => (user as Claims).client_id,
})
app.get<{ Params: { vendorId: string } }>(
  '/v1/analytics/:vendorId/daily',
  { onRequest: async (request) => void (await request.jwtVerify()) },
  async (request, reply) => {
    const { client_id, jti, scope, vendor_id } = request.user as Claims
    const revoked = await redis.mget(`bench:${client_id}`, `bench:${jti}`, `bench:${keys[0]?.kid}`)
    if (revoked.some((entry) => entry !== null)) return reply.code(401).send()
    if (!scope.split(' ').includes('analytics:read') || request.params.vendorId !== vendor_id)
      return reply.code(403).send()
    await askRevision(vendor_id)
    const answer = answers.get(request.url)
    return reply.type('application/json').header('ETag', answer?.etag).send(answer?.body)
  },
)
await app.listen({ port: Number(PORT), host: '127.0.0.1' })
process.once('disconnect', () => process.exit())
