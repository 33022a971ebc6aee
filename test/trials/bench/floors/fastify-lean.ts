/*
 * A fast stack put together by hand: Fastify, its JWT plugin with the memory of verified tokens that it offers, one
 * lookup of the token's revocation in Redis, and the same bytes. No limit, no log, no revoked client or key.
 */
import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import jwt from '@fastify/jwt'
import fastify from 'fastify'
import { Redis } from 'ioredis'

const { BENCH_ANSWERS = '', BENCH_ISSUER = '', BENCH_AUDIENCE = '', BENCH_REDIS_URL = '', PORT } = process.env
const answers = new Map<string, { body: string }>(JSON.parse(readFileSync(BENCH_ANSWERS, 'utf8')))
const redis = new Redis(BENCH_REDIS_URL)
const { keys } = (await (await fetch(`${BENCH_ISSUER}/v1/oauth/jwks`)).json()) as { keys: JsonWebKey[] }
const pem = createPublicKey({ key: keys[0] as JsonWebKey, format: 'jwk' }).export({
  type: 'spki',
  format: 'pem',
})

const app = fastify()
await app.register(jwt, {
  secret: { private: '', public: String(pem) },
  verify: { algorithms: ['ES256'], allowedIss: BENCH_ISSUER, allowedAud: BENCH_AUDIENCE, cache: true },
})
app.get('/v1/analytics/:vendorId/daily', async (request, reply) => {
  const { jti, scope } = await request.jwtVerify<{ jti: string; scope: string }>()
  if (await redis.exists(`bench:${jti}`)) return reply.code(401).send()
  if (!scope.split(' ').includes('analytics:read')) return reply.code(403).send()
  return reply.type('application/json').send(answers.get(request.url)?.body)
})
await app.listen({ port: Number(PORT), host: '127.0.0.1' })
process.once('disconnect', () => process.exit())
