import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { debianProgram, type Executable } from '../../infra/local/debian-program.ts'
import { onCore } from './cores.ts'

const run = promisify(execFile)
const SCRIPT = fileURLToPath(new URL('./wrk.lua', import.meta.url))

const WRK = {
  title: 'wrk',
  names: ['wrk'],
  package: 'wrk',
  isUsable: (version: string) => version.startsWith('wrk '),
  missing: (why: string) =>
    `wrk, which generates the load, was not found, nor could it be fetched (${why}): install wrk.`,
}
let found: Promise<Executable> | undefined

export interface Load {
  origin: string
  /** Made by `writeRequests` (requests.ts). They are sent in turn, whatever connection is free. */
  requestsFile: string
  /** Which of them is the first. */
  first: number
  connections: number
  seconds: number
}

export interface Generated {
  /** Answers that came, and the seconds that it took. */
  requests: number
  seconds: number
  p50_ms: number
  p99_ms: number
  /** Answers with a status of 400 or above. */
  refused: number
  /** Connections or answers that failed altogether. */
  failed: number
}

/** Sends the load from the generator's core. @throws Failure when wrk is not to be had. */
export async function generate({
  origin,
  requestsFile,
  first,
  connections,
  seconds,
}: Load): Promise<Generated> {
  found ??= debianProgram(WRK, (line) => process.stderr.write(`${line}\n`))
  const wrk = await found
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', SCRIPT, origin]
  const [command, ...rest] = onCore('generator', [wrk.command, ...args, '--', requestsFile, String(first)])
  const { stdout } = await run(command as string, rest, { env: { ...process.env, ...wrk.env } })
  const line = stdout.split('\n').find((text) => text.startsWith('@@'))
  if (!line) throw new Error(`wrk said nothing to count: ${stdout}`)
  const result = JSON.parse(line.slice(2))
  return {
    requests: result.requests,
    seconds: result.duration_us / 1e6,
    p50_ms: result.p50_us / 1e3,
    p99_ms: result.p99_us / 1e3,
    refused: result.status,
    failed: result.failed,
  }
}
