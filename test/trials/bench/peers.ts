import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { residentBytes } from './cores.ts'
import { addClientsOfMany, tokenRequest } from './fixtures.ts'
import { figuresOf, measureInterleaved, throughputRatio } from './measure.ts'
import { type HttpRequest, send } from './requests.ts'
import type { Bench, Finding, Measurement, Row } from './row.ts'
import { processTree, type Server } from './servers.ts'
import { single } from './statistics.ts'

const MEBIBYTE = 1_048_576
const IDLE_AFTER_MS = 3_000
export const PEER_PREFIX = 'peer: '

const peer = z.strictObject({
  name: z.string().min(1),
  /** How lean it was set: what it does not do, hash, log or store. */
  note: z.string().min(1),
  tokenUrl: z.url(),
  /** The form of a token request. */
  body: z.string().min(1),
  headers: z.record(z.string(), z.string()).default({}),
  /** The program and its arguments. Without them it is running already, and only its speed is measured. */
  command: z.array(z.string()).min(1).optional(),
  /** Added to PATH and HOME. */
  env: z.record(z.string(), z.string()).default({}),
})

export type Peer = z.infer<typeof peer>

/** @throws Error that says what is wrong in the file. */
export async function readPeers(file: string): Promise<Peer[]> {
  const { data, error } = z
    .array(peer)
    .min(1)
    .safeParse(JSON.parse(await readFile(file, 'utf8')))
  if (error) throw new Error(`${file}:\n${z.prettifyError(error)}`)
  return data
}

/** Another token endpoint beside ours, on the same core in turn. */
export const peerRow = (described: Peer): Row => ({
  name: PEER_PREFIX + described.name,
  part: 'speed',
  measure: (bench) => measurePeer(bench, described),
})

async function measurePeer(bench: Bench, described: Peer): Promise<Measurement> {
  const { name, note } = described
  const world = await bench.world()
  const ours = (await addClientsOfMany(world.db, 1)).map((client) => tokenRequest(client))
  const request = requestOf(described)
  bench.progress(`starting ${name}`)
  const { server, findings } = await startPeer(bench, described, request)
  try {
    const [we, they] = await measureInterleaved(bench, [
      { name: 'token endpoint, 1 client', server: world.auth, requests: ours },
      { name, server, requests: [request] },
    ])
    const what = 'token endpoint'
    return {
      findings: [
        { what, beside: `${name}: ${note}`, ...throughputRatio(we, they) },
        ...findings,
        ...(server.pids.length > 0 ? [memory(`${name}: memory after the load`, server)] : []),
      ],
      loads: [figuresOf(we), figuresOf(they)],
    }
  } finally {
    await server.stop()
  }
}

async function startPeer(
  { servers }: Bench,
  { name, command, env, tokenUrl }: Peer,
  request: HttpRequest,
): Promise<{ server: Server; findings: Finding[] }> {
  const url = new URL(tokenUrl).origin
  if (!command) return { server: { url, pids: [], core: undefined, async stop() {} }, findings: [] }
  const started_ms = performance.now()
  const server = await servers.startCommand({
    command,
    env,
    url,
    ready: async () => (await send({ url }, request)).ok,
  })
  const start_s = (performance.now() - started_ms) / 1_000
  await sleep(IDLE_AFTER_MS)
  server.pids = await processTree(server.pids[0] as number)
  return {
    server,
    findings: [
      { what: `${name}: start to first token`, value: single(start_s), unit: 's' },
      memory(`${name}: memory, idle`, server),
    ],
  }
}

function memory(what: string, { pids }: Server): Finding {
  const bytes = pids.reduce((sum, pid) => sum + residentBytes(pid), 0)
  return { what, value: single(bytes / MEBIBYTE), unit: 'MiB' }
}

function requestOf({ tokenUrl, headers, body }: Peer): HttpRequest {
  const { pathname, search } = new URL(tokenUrl)
  return {
    method: 'POST',
    path: pathname + search,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    body,
  }
}
