import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { newClientId } from '../../../apps/api/accounts/new-ids.ts'
import { joseSignature } from '../../../apps/auth/token-key.ts'
import { registerService } from '../../../infra/admin/services.ts'
import { addClients, analyze, base64url, formRequest, obtainToken, tokenRequest } from './fixtures.ts'
import { measureInterleaved, p99, p99Ratio, throughput } from './measure.ts'
import type { Bench } from './row.ts'
import { type HttpRequest, send } from './wrk.ts'

const CLIENTS = 10_000
const MET_CLIENTS = 50
/** Enough for each round, those included that are repeated. */
const UNMET_CLIENTS_PER_ROUND = 20_000
const KEY_CLIENTS = 50
/** Each is used once: enough for each round, those included that are repeated. */
const ASSERTIONS_PER_ROUND = 12_000
const ASSERTION_LIFE_S = 3_600
const INTROSPECTED_TOKENS = 1_000

export async function tokenBesideFloor(bench: Bench) {
  const requests = (await addClients(bench.db, CLIENTS)).map(tokenRequest)
  const [ours, floor] = await measureInterleaved(bench, [
    { name: 'token endpoint, 10,000 clients', server: bench.auth, requests },
    { name: 'floor', server: await bench.startFloor('token'), requests },
  ])
  return [
    throughput(ours, floor, { beside: 'bare node:http: form, SHA-256, ES256', goal: { least: 0.8 } }),
    p99Ratio(ours, floor, { beside: "the floor's", goal: { most: 2 } }),
  ]
}

/** When a process meets a client, it reads the record from Postgres and oidc-provider checks it. */
export async function unmetClients(bench: Bench) {
  const { db, auth: server } = bench
  const strangers = (await addClients(db, UNMET_CLIENTS_PER_ROUND * bench.rounds)).map(tokenRequest)
  const warmUp = (await addClients(db, MET_CLIENTS)).map(tokenRequest)
  await analyze(db)
  const [unmet, met] = await measureInterleaved(bench, [
    {
      name: 'token endpoint, clients that the process has not met',
      server,
      requests: strangers,
      unmet: true,
    },
    { name: 'token endpoint, clients that it has met', server, requests: warmUp },
  ])
  return [
    throughput(unmet, met, { beside: 'clients that it has', goal: { least: 0.5 } }),
    p99(unmet, { goal: { most: 30 } }),
  ]
}

export async function tokenBesideProvider(bench: Bench) {
  const [client] = await addClients(bench.db, 1)
  const request = tokenRequest(client)
  const provider = await bench.startFloor('provider', {
    BENCH_CLIENT_ID: client.clientId,
    BENCH_CLIENT_SECRET: client.clientSecret,
  })
  const [ours, theirs] = await measureInterleaved(bench, [
    { name: 'token endpoint, 1 client', server: bench.auth, requests: [request] },
    { name: 'oidc-provider', server: provider, requests: [{ ...request, path: '/token' }] },
  ])
  return [throughput(ours, theirs, { beside: 'oidc-provider as it comes, in memory', goal: { least: 2 } })]
}

/** The cost of a client that signs assertions, beyond the two signatures that it takes. */
export async function assertions(bench: Bench) {
  const { db, auth, issuer } = bench
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicKey.export({ format: 'jwk' }) as JWK
  const [known] = await addClients(db, 1)
  const clientIds = Array.from({ length: KEY_CLIENTS }, newClientId)
  await db.raw(
    `insert into oauth_clients (client_id, vendor_id, name, scopes, public_key, key_thumbprint)
     select id, ?, 'bench', array['analytics:read'], ?::jsonb, ? from unnest(?::text[]) as id`,
    [known.vendorId, JSON.stringify(jwk), await calculateJwkThumbprint(jwk), clientIds],
  )
  const exp = Math.floor(Date.now() / 1_000) + ASSERTION_LIFE_S
  const requests = Array.from({ length: ASSERTIONS_PER_ROUND * bench.rounds }, (_, i) => {
    const id = clientIds[i % KEY_CLIENTS]
    const claims = { iss: id, sub: id, aud: issuer, exp, jti: randomUUID() }
    const signed = `${base64url({ alg: 'ES256' })}.${base64url(claims)}`
    const signature = joseSignature(sign('sha256', Buffer.from(signed), privateKey)).toString('base64url')
    return formRequest('/v1/oauth/token', {
      grant_type: 'client_credentials',
      scope: 'analytics:read',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: `${signed}.${signature}`,
    })
  })
  const floor = await bench.startFloor('token', { BENCH_PUBLIC_KEY: JSON.stringify(jwk) })
  const [ours, least] = await measureInterleaved(bench, [
    // The first request is sent twice, so it is one without an assertion.
    {
      name: 'token endpoint, assertions',
      server: auth,
      requests: [tokenRequest(known), ...requests],
      unmet: true,
    },
    { name: 'floor: verify and sign', server: floor, requests },
  ])
  const beside = 'bare node:http: form, ES256 verified, ES256 signed'
  return [throughput(ours, least, { beside, goal: { least: 0.6 } })]
}

/** The cost of introspecting every token, beside the requests that issued them. */
export async function introspection(bench: Bench) {
  const { db, auth: server } = bench
  const { serviceId, serviceSecret } = await registerService(db, { name: 'bench', by: { name: 'bench' } })
  const clients = await addClients(db, INTROSPECTED_TOKENS)
  const questions: HttpRequest[] = []
  for (const client of clients) {
    const token = await obtainToken(server, client)
    const fields = { token, client_id: serviceId, client_secret: serviceSecret }
    questions.push(formRequest('/v1/oauth/introspect', fields))
  }
  const answer = await send(server, questions[0] as HttpRequest)
  if (!((await answer.json()) as { active?: boolean }).active) throw new Error('the token is not active')
  const [asked, issued] = await measureInterleaved(bench, [
    { name: 'introspection of a live token', server, requests: questions },
    { name: 'token endpoint, 1,000 clients', server, requests: clients.map(tokenRequest) },
  ])
  return [throughput(asked, issued, { beside: 'a token request', goal: { least: 0.5 } })]
}
