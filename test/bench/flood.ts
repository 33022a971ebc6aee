import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { newClientSecret } from '../../shared/oauth/new-ids.ts'
import { addClientsOfMany, requestToken, tokenRequest } from './fixtures.ts'
import type { Goal } from './goals.ts'
import { figuresOf, measureInterleaved, ratioOf, throughputRatio } from './measure.ts'
import { createReaders, dailyRead, type Readers } from './readers.ts'
import { type HttpRequest, send } from './requests.ts'
import type { Bench, Measurement, Row } from './row.ts'
import type { Server } from './servers.ts'
import { shifted } from './statistics.ts'
import type { World } from './world.ts'

/** A flood as large as the good load costs it a quarter at most. */
const GOAL: Goal = { least: 0.75 }
const CLIENTS = 10_000
/** More than a service could remember as bad, and as many addresses where they have one each. */
const FORGED_TOKENS = 20_000
/** What both stores say of a revocation is in force at once; a round of reconciliation is over by then too. */
const SETTLED_MS = 2_000

export const floodRows: Row[] = [
  { name: 'flood of wrong secrets', part: 'speed', measure: wrongSecrets },
  { name: 'flood of forged tokens, many addresses', part: 'speed', measure: forgedTokensOfMany },
  { name: 'flood of forged tokens, one address', part: 'speed', measure: forgedTokensOfOne },
  { name: 'flood of revoked tokens', part: 'speed', measure: revokedTokens },
]

async function wrongSecrets(bench: Bench): Promise<Measurement> {
  const { db, auth } = await bench.world()
  const clients = await addClientsOfMany(db, CLIENTS)
  const good = clients.map((client) => tokenRequest(client))
  const bad = clients.map((client) => tokenRequest({ ...client, clientSecret: newClientSecret() }))
  return besideFlood(bench, { what: 'token request', flood: 'wrong secrets', server: auth, good, bad })
}

function forgedTokensOfMany(bench: Bench): Promise<Measurement> {
  return forgedTokens(bench, 'forged tokens, many addresses', (i) => `198.18.${i >> 8}.${i & 255}`)
}

function forgedTokensOfOne(bench: Bench): Promise<Measurement> {
  return forgedTokens(bench, 'forged tokens, one address', () => '198.19.0.1')
}

/** @param addressOf of RFC 2544's range for benchmarks; the good requests come from this machine's own address. */
async function forgedTokens(
  bench: Bench,
  flood: string,
  addressOf: (i: number) => string,
): Promise<Measurement> {
  const world = await bench.world()
  const { requests: good, clients, tokens } = await createReaders(world)
  const bad = Array.from({ length: FORGED_TOKENS }, (_, i) => {
    const turn = i % clients.length
    const read = dailyRead(clients[turn]?.vendorId ?? '', forgery(tokens[turn] ?? ''))
    return { ...read, headers: { ...read.headers, 'X-Forwarded-For': addressOf(i) } }
  })
  return besideFlood(bench, { what: 'daily read', flood, server: world.api, good, bad })
}

async function revokedTokens(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const readers = await createReaders(world)
  const bad = await revokedReads(world, readers)
  const { requests: good } = readers
  return besideFlood(bench, { what: 'daily read', flood: 'revoked tokens', server: world.api, good, bad })
}

interface Flooding {
  what: string
  flood: string
  server: Server
  good: HttpRequest[]
  bad: HttpRequest[]
}

/**
 * The good load alone, and the same with a bad request after each good one, on twice the connections: the flood
 * keeps pace with the good load however fast that is. The server's core is full all the time, so that whatever a bad
 * request takes is taken from the good ones.
 */
async function besideFlood(bench: Bench, { what, flood, server, good, bad }: Flooding): Promise<Measurement> {
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
      connections: 2 * bench.conditions.connections,
    },
    { name: `${what}s, alone`, server, requests: good },
  ])
  return {
    findings: [
      {
        what: `good ${what}s in a flood of ${flood}`,
        beside: 'alone',
        goal: GOAL,
        ...throughputRatio(flooded, alone),
      },
      {
        what: `CPU of a refusal: ${flood}`,
        beside: `a good ${what}`,
        // In the flood a good request takes its own CPU and that of one refusal.
        value: shifted(
          ratioOf(alone, flooded, ({ perCpuSecond }) => perCpuSecond),
          -1,
        ),
        unit: 'ratio',
      },
    ],
    loads: [figuresOf(flooded), figuresOf(alone)],
  }
}

async function requireRefused(server: Server, request: HttpRequest): Promise<void> {
  const { status } = await send(server, request)
  if (status !== 401 && status !== 429)
    throw new Error(`a request that is to be refused was answered ${status}`)
}

/** The same token with another id and a signature of nobody. */
function forgery(token: string): string {
  const [header = '', payload = ''] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
  const changed = Buffer.from(JSON.stringify({ ...claims, jti: randomUUID() })).toString('base64url')
  return `${header}.${changed}.${randomBytes(64).toString('base64url')}`
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
