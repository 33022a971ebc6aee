import {
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  randomUUID,
  verify,
} from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { newClientSecret } from '../../../shared/oauth/new-ids.ts'
import { addClientsOfMany, requestToken, tokenRequest } from './fixtures.ts'
import { CONNECTIONS, type Measured, measureInterleaved, ratioOf, type Sample } from './measure.ts'
import { createReaders, dailyRead, type Readers } from './readers.ts'
import { type HttpRequest, send } from './requests.ts'
import type { Bench, Measurement, Row } from './row.ts'
import type { Server } from './servers.ts'
import { shifted, spread } from './statistics.ts'
import type { World } from './world.ts'

const CLIENTS = 10_000
/** More than a service could remember. */
const FORGED_TOKENS = 20_000
const VERIFIED_TOKENS = 2_000
/** What both stores say of a revocation is in force at once; a round of reconciliation is over by then too. */
const SETTLED_MS = 2_000

export const floodRows: Row[] = [
  { name: 'refusal of wrong secrets', part: 'speed', measure: wrongSecrets },
  { name: 'refusal of revoked tokens', part: 'speed', measure: revokedTokens },
  { name: 'refusal of forged tokens', part: 'speed', measure: forgedTokens },
]

async function wrongSecrets(bench: Bench): Promise<Measurement> {
  const { db, auth } = await bench.world()
  const clients = await addClientsOfMany(db, CLIENTS)
  const good = clients.map((client) => tokenRequest(client))
  const bad = clients.map((client) => tokenRequest({ ...client, clientSecret: newClientSecret() }))
  const flood = { what: 'token request', flood: 'wrong secrets', server: auth, good, bad }
  return besideGood(flood, 1.2, await measureFlood(bench, flood))
}

async function revokedTokens(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const readers = await createReaders(world)
  const bad = await revokedReads(world, readers)
  const { requests: good } = readers
  const flood = { what: 'daily read', flood: 'revoked tokens', server: world.api, good, bad }
  return besideGood(flood, 1, await measureFlood(bench, flood))
}

async function forgedTokens(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const { requests: good, clients, tokens } = await createReaders(world)
  const forged = Array.from({ length: FORGED_TOKENS }, (_, i) => forgery(tokens[i % tokens.length] ?? ''))
  const bad = forged.map((token, i) => dailyRead(clients[i % clients.length]?.vendorId ?? '', token))
  const jwks = (await (await fetch(`${world.issuer}/v1/oauth/jwks`)).json()) as { keys: JsonWebKey[] }
  const key = createPublicKey({ key: jwks.keys[0] as JsonWebKey, format: 'jwk' })
  const verifications = Array.from({ length: bench.rounds }, () =>
    verificationSeconds(key, forged.slice(0, VERIFIED_TOKENS)),
  )
  const verification_s = spread(verifications).median
  const { flooded, alone } = await measureFlood(bench, {
    what: 'daily read',
    flood: 'forged tokens',
    server: world.api,
    good,
    bad,
  })
  const refusals = flooded.samples.map(
    ({ perCpuSecond }, i) => 1 / perCpuSecond - 1 / (alone.samples[i] as Sample).perCpuSecond,
  )
  return {
    findings: [
      {
        what: 'CPU of a refusal: forged tokens',
        beside: 'the verification of an ES256 signature alone',
        goal: { most: 2 },
        value: spread(refusals.map((refusal_s) => refusal_s / verification_s)),
        unit: 'ratio',
      },
    ],
    loads: [flooded, alone],
  }
}

interface Flood {
  what: string
  flood: string
  server: Server
  good: HttpRequest[]
  bad: HttpRequest[]
}

interface Flooded {
  flooded: Measured
  alone: Measured
}

/** The good load with a bad request after each good one, on twice the connections, and the good load alone. */
async function measureFlood(bench: Bench, { what, flood, server, good, bad }: Flood): Promise<Flooded> {
  for (const request of [bad[0], bad.at(-1)]) await requireRefused(server, request as HttpRequest)
  const mixed = Array.from({ length: Math.max(good.length, bad.length) }, (_, i) => [
    good[i % good.length] as HttpRequest,
    bad[i % bad.length] as HttpRequest,
  ]).flat()
  const [flooded, alone] = await measureInterleaved(bench, [
    {
      name: `${what}s, flooded with ${flood}`,
      server,
      requests: mixed,
      refused: 0.5,
      connections: 2 * CONNECTIONS,
    },
    { name: `${what}s, alone`, server, requests: good },
  ])
  return { flooded, alone }
}

/** In the flood a good request takes its own CPU and that of one refusal. */
function besideGood({ what, flood }: Flood, most: number, { flooded, alone }: Flooded): Measurement {
  const cost = ratioOf(alone, flooded, ({ perCpuSecond }) => perCpuSecond)
  return {
    findings: [
      {
        what: `CPU of a refusal: ${flood}`,
        beside: `a good ${what}`,
        goal: { most },
        value: shifted(cost, -1),
        unit: 'ratio',
      },
    ],
    loads: [flooded, alone],
  }
}

async function requireRefused(server: Server, request: HttpRequest): Promise<void> {
  const { status } = await send(server, request)
  if (status !== 401) throw new Error(`a request that is to be refused was answered ${status}`)
}

/** The same token with another id and a signature of nobody. */
function forgery(token: string): string {
  const [header = '', payload = ''] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
  const changed = Buffer.from(JSON.stringify({ ...claims, jti: randomUUID() })).toString('base64url')
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

async function revokedReads({ auth }: World, { clients }: Readers): Promise<HttpRequest[]> {
  const reads = clients.map(async (client) => {
    const token = await requestToken(auth, client)
    const { clientId, clientSecret } = client
    const body = new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret })
    const { status } = await fetch(`${auth.url}/v1/oauth/revoke`, { method: 'POST', body })
    if (status !== 200) throw new Error(`a token was not revoked: ${status}`)
    return dailyRead(client.vendorId, token)
  })
  const requests = await Promise.all(reads)
  await sleep(SETTLED_MS)
  return requests
}
