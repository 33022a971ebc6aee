import { fileURLToPath } from 'node:url'
import { endsWithParent, startChild } from '../../../infra/local/child.ts'
import { debianProgram, type Executable } from '../../../infra/local/debian-program.ts'
import { onCore } from './cores.ts'

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

/**
 * Sends the load from the generator's core. `onStart` is called at the first request, when all have been read.
 * @throws Failure when wrk is not to be had.
 */
export async function generate(
  { origin, requestsFile, first, connections, seconds }: Load,
  onStart: () => void,
): Promise<Generated> {
  found ??= debianProgram(WRK, (line) => process.stderr.write(`${line}\n`))
  const wrk = await found
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', SCRIPT, origin]
  const generator = onCore('generator', [wrk.command, ...args, '--', requestsFile, String(first)])
  const [command, ...rest] = await endsWithParent('TERM', generator)
  const child = startChild(command as string, rest, { env: { ...process.env, ...wrk.env } })
  child.process.stdout?.once('data', onStart)
  const end = await child.ended
  const counted = /^@@({.*})$/m.exec(child.output())?.[1]
  if (!counted) throw new Error(`wrk ended with ${end} and counted nothing: ${child.output()}`)
  const result = JSON.parse(counted)
  return {
    requests: result.requests,
    seconds: result.duration_us / 1e6,
    p50_ms: result.p50_us / 1e3,
    p99_ms: result.p99_us / 1e3,
    refused: result.status,
    failed: result.failed,
  }
}
