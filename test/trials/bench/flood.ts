import {
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  randomUUID,
  verify,
} from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { newClientSecret } from '../../../apps/api/accounts/new-ids.ts'
import {
  addClients,
  base64url,
  createReaders,
  dailyRead,
  formRequest,
  obtainToken,
  tokenRequest,
} from './fixtures.ts'
import type { Goal } from './goals.ts'
import { eachRound, measureInterleaved } from './measure.ts'
import type { Bench, Finding } from './row.ts'
import { spread } from './statistics.ts'
import type { Server } from './world.ts'
import { type HttpRequest, send } from './wrk.ts'

const CLIENTS = 10_000
/** More than a service can remember. */
const FORGED_TOKENS = 20_000
const VERIFIED_TOKENS = 2_000
/**
 * What both stores say of a revocation is in force at once. A round of reconciliation ends within this too.
 */
const SETTLED_MS = 2_000

export async function wrongSecrets(bench: Bench) {
  const clients = await addClients(bench.db, CLIENTS)
  return measureFlood(bench, {
    good: clients.map(tokenRequest),
    called: 'token request',
    bad: clients.map((client) => tokenRequest({ ...client, clientSecret: newClientSecret() })),
    refused: 'wrong secrets',
    server: bench.auth,
    goal: { most: 1.2 },
  })
}

export async function revokedTokens(bench: Bench) {
  const { auth } = bench
  const { readers, requests: good } = await createReaders(bench)
  const bad = await Promise.all(
    readers.map(async ({ client }) => {
      const token = await obtainToken(auth, client)
      const credentials = { client_id: client.clientId, client_secret: client.clientSecret }
      const { status } = await send(auth, formRequest('/v1/oauth/revoke', { token, ...credentials }))
      if (status !== 200) throw new Error(`a token was not revoked: ${status}`)
      return dailyRead(client, token)
    }),
  )
  await sleep(SETTLED_MS)
  return measureFlood(bench, {
    good,
    called: 'daily read',
    bad,
    refused: 'revoked tokens',
    server: bench.api,
    goal: { most: 1 },
  })
}

export async function forgedTokens(bench: Bench) {
  const { readers, requests: good } = await createReaders(bench)
  const forgeries = Array.from({ length: FORGED_TOKENS / readers.length }, () =>
    readers.map(({ client, token }) => ({ client, token: forgery(token) })),
  ).flat()
  const jwks = (await (await fetch(`${bench.issuer}/v1/oauth/jwks`)).json()) as { keys: JsonWebKey[] }
  const key = createPublicKey({ key: jwks.keys[0] as JsonWebKey, format: 'jwk' })
  const verified = forgeries.slice(0, VERIFIED_TOKENS).map(({ token }) => token)
  const verifications = Array.from({ length: bench.rounds }, () => verificationSeconds(key, verified))
  return measureFlood(bench, {
    good,
    called: 'daily read',
    bad: forgeries.map(({ client, token }) => dailyRead(client, token)),
    refused: 'forged tokens',
    server: bench.api,
    goal: { most: 2 },
    floor: { name: 'the verification of an ES256 signature alone', cpu_s: spread(verifications).median },
  })
}

interface Flood {
  good: HttpRequest[]
  /** What people call a good request. */
  called: string
  bad: HttpRequest[]
  /** What people call the bad ones. */
  refused: string
  server: Server
  goal: Goal
  /** Default: a good request. */
  floor?: { name: string; cpu_s: number }
}

/**
 * Compares the good load alone with one that adds a bad request after each good one, on twice the
 * connections. In the flood, a good request costs its own CPU and that of one refusal.
 */
async function measureFlood(bench: Bench, flood: Flood): Promise<Finding[]> {
  const { good, called, bad, refused, server, goal, floor } = flood
  for (const request of [bad[0], bad.at(-1)] as HttpRequest[]) {
    const { status } = await send(server, request)
    if (status !== 401) throw new Error(`a request that is to be refused was answered ${status}`)
  }
  const mixed = Array.from({ length: Math.max(good.length, bad.length) }, (_, i) => [
    good[i % good.length] as HttpRequest,
    bad[i % bad.length] as HttpRequest,
  ]).flat()
  const [flooded, alone] = await measureInterleaved(bench, [
    { name: `${called}s, flooded with ${refused}`, server, requests: mixed, flooded: true },
    { name: `${called}s, alone`, server, requests: good },
  ])
  const value = eachRound(flooded, alone, (both, good) => {
    const good_s = 1 / good.perCpuSecond
    const refusal_s = 1 / both.perCpuSecond - good_s
    return refusal_s / (floor?.cpu_s ?? good_s)
  })
  const beside = floor?.name ?? `a good ${called}`
  return [{ what: `CPU of a refusal: ${refused}`, beside, goal, value, unit: 'ratio' }]
}

/** Returns the token with another id and a random signature. */
function forgery(token: string): string {
  const [header, payload = ''] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const changed = base64url({ ...claims, jti: randomUUID() })
  return `${header}.${changed}.${randomBytes(64).toString('base64url')}`
}

/** Returns the CPU seconds that node:crypto takes to verify one of the tokens. */
function verificationSeconds(key: KeyObject, tokens: string[]): number {
  const before = process.cpuUsage()
  for (const token of tokens) {
    const end = token.lastIndexOf('.')
    const signature = Buffer.from(token.slice(end + 1), 'base64url')
    if (verify('sha256', Buffer.from(token.slice(0, end)), { key, dsaEncoding: 'ieee-p1363' }, signature))
      throw new Error('a forged token has a good signature')
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6 / tokens.length
}
