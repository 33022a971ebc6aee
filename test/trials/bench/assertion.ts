import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { joseSignature } from '../../../apps/auth/token-key.ts'
import { addClientsOfMany, addKeyClients, type BenchClient, tokenRequest } from './fixtures.ts'
import { measureBeside } from './measure.ts'
import type { HttpRequest } from './requests.ts'
import type { Bench, Measurement, Row } from './row.ts'

const CLIENTS = 50
/** Each is used once: enough for each round, those included that are repeated. */
const ASSERTIONS_A_ROUND = 12_000
const LIFE_S = 3_600

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
    assertionRequest(clientIds[i % CLIENTS] as string, { aud: issuer, exp }, privateKey),
  )
  const floor = await bench.servers.startFloor('token', { BENCH_PUBLIC_KEY: JSON.stringify(jwk) })
  // The first request is sent twice, so it is one without an assertion.
  const sent = [tokenRequest(known), ...requests]
  const ours = { name: 'token endpoint, assertions', server: auth, requests: sent, unmet: true }
  const least = { name: 'floor: verify and sign', server: floor, requests }
  const beside = 'bare node:http: form, ES256 verified, ES256 signed'
  return measureBeside(bench, [ours, least], { beside, goal: { least: 0.6 } })
}

function assertionRequest(clientId: string, more: { aud: string; exp: number }, key: KeyObject): HttpRequest {
  const claims = { iss: clientId, sub: clientId, ...more, jti: randomUUID() }
  const [header, payload] = [{ alg: 'ES256' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const signed = `${header}.${payload}`
  const signature = joseSignature(sign('sha256', Buffer.from(signed), key)).toString('base64url')
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    scope: 'analytics:read',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: `${signed}.${signature}`,
  }).toString()
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  return { method: 'POST', path: '/v1/oauth/token', headers, body }
}
