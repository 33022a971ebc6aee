import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { joseSignature } from '../../../apps/auth/token-key.ts'
import { addClientsOfMany, addKeyClients, type BenchClient, tokenRequest } from './fixtures.ts'
import type { Goal } from './goals.ts'
import { measureInterleaved, throughputRatio } from './measure.ts'
import type { HttpRequest } from './requests.ts'
import type { Bench, Measurement, Row } from './row.ts'

const CLIENTS = 50
/** Each is used once: enough for each round, those included that are repeated. */
const ASSERTIONS_A_ROUND = 12_000
const LIFE_S = 3_600
const GOAL: Goal = { least: 0.6 }

export const assertionRows: Row[] = [
  { name: 'token endpoint, assertions', part: 'speed', measure: besideVerifyingAndSigning },
]

/** What a client that signs assertions costs more than the two signatures that it takes. */
async function besideVerifyingAndSigning(bench: Bench): Promise<Measurement> {
  const { db, auth, issuer } = await bench.world()
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicKey.export({ format: 'jwk' }) as JWK
  const clientIds = await addKeyClients(db, CLIENTS, jwk, await calculateJwkThumbprint(jwk))
  const [known] = (await addClientsOfMany(db, 1)) as [BenchClient]
  const exp = Math.floor(Date.now() / 1_000) + LIFE_S
  const requests = Array.from({ length: ASSERTIONS_A_ROUND * bench.rounds }, (_, i) =>
    assertionRequest({ clientId: clientIds[i % CLIENTS] as string, issuer, exp, privateKey }),
  )
  const floor = await bench.servers.startFloor('token', { BENCH_PUBLIC_KEY: JSON.stringify(jwk) })
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
  return {
    findings: [{ what: ours.subject.name, beside, goal: GOAL, ...throughputRatio(ours, least) }],
    loads: [ours, least],
  }
}

interface Assertion {
  clientId: string
  issuer: string
  /** In seconds. */
  exp: number
  privateKey: KeyObject
}

function assertionRequest({ clientId, issuer, exp, privateKey }: Assertion): HttpRequest {
  const claims = { iss: clientId, sub: clientId, aud: issuer, exp, jti: randomUUID() }
  const [header, payload] = [{ alg: 'ES256' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const signed = `${header}.${payload}`
  const signature = joseSignature(sign('sha256', Buffer.from(signed), privateKey)).toString('base64url')
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    scope: 'analytics:read',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: `${signed}.${signature}`,
  }).toString()
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  return { method: 'POST', path: '/v1/oauth/token', headers, body }
}
