import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { endWithParent, startChild } from '../../../infra/local/child.ts'
import { debianProgram, type Executable } from '../../../infra/local/debian-program.ts'
import { linesTo } from '../../../infra/progress.ts'
import { onCore, watchServer } from './cores.ts'
import type { Server } from './world.ts'

const SCRIPT = join(import.meta.dirname, 'wrk.lua')
const WRK = {
  title: 'wrk',
  names: ['wrk'],
  package: 'wrk',
  isUsable: (version: string) => version.startsWith('wrk '),
  missing: (why: string) =>
    `wrk, which generates the load, was not found, nor could it be fetched (${why}): install wrk.`,
}
let executable: Promise<Executable> | undefined

/** A POST if it has a body. */
export interface HttpRequest {
  /** With its query. */
  path: string
  headers: Record<string, string>
  body?: string
}

const chooseMethod = ({ body }: HttpRequest) => (body === undefined ? 'GET' : 'POST')

/** Sends one request without the generator. */
export const send = ({ url }: { url: string }, request: HttpRequest): Promise<Response> =>
  fetch(url + request.path, { ...request, method: chooseMethod(request) })

/** Writes requests where the generator reads them from; wrk.lua has the format. */
export async function writeRequests(file: string, requests: HttpRequest[]): Promise<void> {
  const lines = requests.map((request) => {
    const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`)
    return [chooseMethod(request), request.path, request.body ?? '', ...headers].join('\t')
  })
  await writeFile(file, `${lines.join('\n')}\n`)
}

const CONNECTIONS = 16

interface Load {
  server: Server
  /** Made by `writeRequests`. They are sent in turn, whatever connection is free. */
  requestsFile: string
  /** Which of them is the first. */
  first: number
  seconds: number
}

/** What wrk.lua prints, and what the server did meanwhile. */
export interface Generated extends ReturnType<ReturnType<typeof watchServer>> {
  /** Answers that came, and the seconds that it took. */
  requests: number
  seconds: number
  p99_ms: number
  /** Answers with a status of 400 or above. */
  refused: number
  /** Connections or answers that failed altogether. */
  failed: number
}

/**
 * Sends the load from the generator's core, and watches the server from the first request on, when all have
 * been read.
 * @throws Failure when wrk is not to be had.
 */
export async function generate(load: Load): Promise<Generated> {
  const { server, requestsFile, first, seconds } = load
  executable ??= debianProgram(WRK, linesTo(process.stderr))
  const wrk = await executable
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-s', SCRIPT, server.url]
  const generator = onCore('generator', [wrk.command, ...args, '--', requestsFile, String(first)])
  const [command = '', ...rest] = await endWithParent('TERM', generator)
  const child = startChild(command, rest, { env: { ...process.env, ...wrk.env } })
  await Promise.race([once(child.process.stdout as Readable, 'data'), child.ended])
  const watched = watchServer(server.pid)
  const end = await child.ended
  const summary = /^@@({.*})$/m.exec(child.output())?.[1]
  if (!summary) throw new Error(`wrk ended with ${end} and counted nothing: ${child.output()}`)
  const generated = JSON.parse(summary)
  return { ...generated, ...watched(generated.seconds) }
}
