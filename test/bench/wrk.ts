import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onPath } from '../../infra/local/child.ts'
import { onCore } from './cores.ts'

const run = promisify(execFile)
const SCRIPT = fileURLToPath(new URL('./wrk.lua', import.meta.url))

export interface Load {
  url: string
  method: 'GET' | 'POST'
  headers?: Record<string, string>
  /** A file with one body a line; they are sent in turn. */
  bodies?: string
  connections: number
  seconds: number
}

export interface Measured {
  perSecond: number
  p50_ms: number
  p99_ms: number
  requests: number
  /** Answers with a status of 400 or above. */
  refused: number
  /** Connections or answers that failed altogether. */
  failed: number
}

/** Sends `load` from the generator's core. @throws Error when wrk is not to be had. */
export async function generate({
  url,
  method,
  headers = {},
  bodies,
  connections,
  seconds,
}: Load): Promise<Measured> {
  const { origin, pathname, search } = new URL(url)
  const wrk = await onPath('wrk')
  if (!wrk) throw new Error('wrk generates the load: install it (Debian: apt-get install wrk)')
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', SCRIPT, origin, '--']
  const [command, ...rest] = onCore('generator', [
    wrk,
    ...args,
    method,
    pathname + search,
    bodies ?? '-',
    ...lines,
  ])
  const { stdout } = await run(command as string, rest)
  const line = stdout.split('\n').find((text) => text.startsWith('@@'))
  if (!line) throw new Error(`wrk said nothing to count: ${stdout}`)
  const result = JSON.parse(line.slice(2))
  return {
    perSecond: result.requests / (result.duration_us / 1e6),
    p50_ms: result.p50_us / 1e3,
    p99_ms: result.p99_us / 1e3,
    requests: result.requests,
    refused: result.status,
    failed: result.failed,
  }
}
