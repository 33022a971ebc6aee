/*
 * What a team would build instead: Fastify with its JWT plugin and that plugin's cache of verified tokens,
 * its rate-limit plugin on Redis, its request log, one lookup of the token, its client and its key in Redis,
 * and the same bytes after the same question to Postgres, which all requests of a turn of the event loop
 * share as ours do.
 */
import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import jwt from '@fastify/jwt'
import rateLimit from '@fastify/rate-limit'
import fastify from 'fastify'
import { Redis } from 'ioredis'
import pg from 'pg'

interface Claims {
  client_id: string
  jti: string
  scope: string
  vendor_id: string
}

const {
  BENCH_ANSWERS = '',
  BENCH_DATABASE_URL = '',
  BENCH_ISSUER = '',
  BENCH_REDIS_URL = '',
  PORT,
} = process.env
/** The answers that the service gave, by path and query. */
const answers = new Map<string, { body: string; etag: string }>(
  JSON.parse(readFileSync(BENCH_ANSWERS, 'utf8')),
)
const redis = new Redis(BENCH_REDIS_URL)
const db = new pg.Pool({ connectionString: BENCH_DATABASE_URL })
const REVISIONS = {
  name: 'revisions',
  text: 'select vendor_id, revision from analytics_revisions where vendor_id = any($1)',
}
const { keys } = (await (await fetch(`${BENCH_ISSUER}/v1/oauth/jwks`)).json()) as { keys: JsonWebKey[] }
const pem = createPublicKey({ key: keys[0] as JsonWebKey, format: 'jwk' }).export({
  type: 'spki',
  format: 'pem',
})

let waiting: { vendorId: string; resolve: () => void }[] = []

/** Asks for all companies of a turn of the event loop together. */
async function askTogether(): Promise<void> {
  const batch = waiting
  waiting = []
  await db.query({ ...REVISIONS, values: [batch.map(({ vendorId }) => vendorId)] })
  for (const { resolve } of batch) resolve()
}

const askRevision = (vendorId: string) =>
  new Promise<void>((resolve) => {
    waiting.push({ vendorId, resolve })
    if (waiting.length === 1) setImmediate(() => void askTogether())
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
