import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { startChild } from '../../../infra/local/child.ts'
import { freePorts } from '../../support/ports.ts'
import { onCore, residentBytes } from './cores.ts'
import { addClientsOfMany, type BenchClient, requestToken } from './fixtures.ts'
import type { Goal } from './goals.ts'
import type { Bench, Measurement, Row } from './row.ts'
import { single, spread } from './statistics.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../..')
const READY_DEADLINE_MS = 120_000
const STOP_DEADLINE_MS = 40_000
const POLL_MS = 20
const AGAIN = 3
const STARTS = 5

const IDLE_AFTER_MS = 5_000
const MEBIBYTE = 1_048_576
const FIRST_TOKEN_GOAL: Goal = { most: 0.6 }
const IDLE_GOALS = { auth: { most: 110 }, api: { most: 110 } } as const

export const startRows: Row[] = [
  { name: 'start and idle memory', part: 'speed', measure: measureServices },
  { name: 'npm start', part: 'speed', measure: measureStart },
  { name: 'npm test', part: 'suite', measure: measureSuite },
]

/** Alone on the server's core. The first start only fills Node's compile cache. */
async function measureServices(bench: Bench): Promise<Measurement> {
  const { db, startService } = await bench.world()
  const [client] = (await addClientsOfMany(db, 1)) as [BenchClient]
  const firstToken_s: number[] = []
  const idle: Record<'auth' | 'api', number[]> = { auth: [], api: [] }
  for (let start = 0; start <= STARTS; start++) {
    bench.progress(`start ${start} of ${STARTS}`)
    const started_ms = performance.now()
    const auth = await startService('auth')
    await requestToken(auth, client)
    const seconds = (performance.now() - started_ms) / 1e3
    const api = await startService('api')
    await sleep(IDLE_AFTER_MS)
    if (start > 0) {
      firstToken_s.push(seconds)
      idle.auth.push(residentBytes(auth.pids[0] as number) / MEBIBYTE)
      idle.api.push(residentBytes(api.pids[0] as number) / MEBIBYTE)
    }
    await Promise.all([auth.stop(), api.stop()])
  }
  return {
    findings: [
      {
        what: 'first token of a started authorization server',
        goal: FIRST_TOKEN_GOAL,
        value: spread(firstToken_s),
        unit: 's',
      },
      {
        what: 'memory of the authorization server, idle',
        goal: IDLE_GOALS.auth,
        value: spread(idle.auth),
        unit: 'MiB',
      },
      {
        what: 'memory of the resource API, idle',
        goal: IDLE_GOALS.api,
        value: spread(idle.api),
        unit: 'MiB',
      },
    ],
    loads: [],
  }
}

/** From the command to `ready`, in a clone of what is committed, with the packages installed. */
async function measureStart(bench: Bench): Promise<Measurement> {
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-clone-'))
  try {
    bench.progress('cloning')
    await run('git', ['clone', '--quiet', ROOT, folder])
    // Links: the packages as they were installed here.
    await run('cp', ['-al', join(ROOT, 'node_modules'), folder])
    bench.progress('the first start')
    const first = await secondsToReady(folder)
    const again: number[] = []
    for (let start = 1; start <= AGAIN; start++) {
      bench.progress(`another start, ${start} of ${AGAIN}`)
      again.push(await secondsToReady(folder))
    }
    return {
      findings: [
        { what: 'npm start to ready, the first time', value: single(first), unit: 's' },
        { what: 'npm start to ready, again', value: spread(again), unit: 's' },
      ],
      loads: [],
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function secondsToReady(folder: string): Promise<number> {
  const [PORT, AUTH_PORT, API_PORT] = (await freePorts(3)).map(String)
  const { PATH, HOME, XDG_CACHE_HOME } = process.env
  const [command, ...args] = onCore('anywhere', ['npm', 'start', '--silent'])
  const started_ms = performance.now()
  const child = startChild(command as string, args, {
    cwd: folder,
    env: { PATH, HOME, XDG_CACHE_HOME, PORT, AUTH_PORT, API_PORT },
  })
  try {
    while (!/^ready http/m.test(child.output())) {
      if (child.end() !== undefined || performance.now() - started_ms > READY_DEADLINE_MS)
        throw new Error(`npm start did not become ready: ${child.output()}`)
      await sleep(POLL_MS)
    }
    return (performance.now() - started_ms) / 1e3
  } finally {
    await child.stop('SIGINT', STOP_DEADLINE_MS)
  }
}

async function measureSuite(bench: Bench): Promise<Measurement> {
  bench.progress('npm test')
  const [command, ...args] = onCore('anywhere', ['npm', 'test', '--silent'])
  const started_ms = performance.now()
  const child = startChild(command as string, args, { cwd: ROOT })
  const end = await child.ended
  const seconds = (performance.now() - started_ms) / 1e3
  if (end !== 'exit code 0') throw new Error(`npm test failed (${end}): ${child.output()}`)
  return { findings: [{ what: 'npm test', value: single(seconds), unit: 's' }], loads: [] }
}
