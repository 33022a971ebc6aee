import type { Site } from './site.ts'

/** The operations that the table counts. A probe, which asks for something revoked, is not among them. */
export const OPERATIONS = ['read', 'token', 'ingest', 'workspace', 'revoke', 'outside'] as const
export type Operation = (typeof OPERATIONS)[number] | 'probe'

/** A request is given up this long after it should have been answered. */
const GIVE_UP_AFTER_MS = 4_000

export interface Call {
  operation: Operation
  site: Site
  path: string
  bearer?: string
  /** Default: POST with a body, GET without. */
  method?: 'POST'
  headers?: Record<string, string>
  body?: URLSearchParams | string
  /** Called as soon as the head of the answer has arrived. */
  atHead?(status: number): void
}

/** A dependency is gone without which none of these services may answer well. */
export interface Outage {
  /** `neither store could be asked` */
  what: string
  services: readonly Site['service'][]
  /** Requests that begin within this time may still be answered by what was known before. */
  remembered_ms: number
}

/** The header of a token. It names the signing key, so that all tokens of one key begin alike. */
export const tokenHead = (token: string): string => token.split('.')[0] ?? ''

/** Times are of performance.now(). */
export interface Answer {
  operation: Operation
  site: Site
  began_ms: number
  ended_ms: number
  /** Undefined if there was no answer. */
  status: number | undefined
  // biome-ignore lint/suspicious/noExplicitAny: answers of any shape.
  json: any
  good: boolean
  /** Whether it counts for its process: not if that was stopped or gone meanwhile. */
  counts: boolean
}

export type Recorder = ReturnType<typeof createRecorder>

/** @param answerMax_ms a later answer is a violation. */
export function createRecorder(answerMax_ms: number) {
  const origin_ms = performance.now()
  const pending = new Set<Promise<Answer>>()
  const at = (time_ms: number) => `${((time_ms - origin_ms) / 1_000).toFixed(3)} s`
  const recorder = {
    violations: [] as string[],
    /** The fault in progress, which each violation names. */
    phase: 'start',
    /** The answers of one fault, without those to probes. */
    answers: [] as Answer[],
    /** The number of all answers. */
    total: 0,
    /** What is gone now, and since when. */
    outage: undefined as (Outage & { since_ms: number }) | undefined,
    /** How the tokens of revoked keys begin (tokenHead). That they are refused is no violation. */
    revokedHeads: new Set<string>(),
    violation(text: string) {
      recorder.violations.push(`[${at(performance.now())}, ${recorder.phase}] ${text}`)
    },
    /** Sends a request, and checks what must hold of every answer. Never rejects. */
    call(call: Call): Promise<Answer> {
      const answer = send(call)
      pending.add(answer)
      return answer.finally(() => pending.delete(answer))
    },
    /** Resolves when every request that began before now has ended. */
    settled: () => Promise.all(pending),
  }

  async function send(call: Call): Promise<Answer> {
    const { operation, site, path, bearer, headers, body = null, atHead } = call
    const began_ms = performance.now()
    const signal = AbortSignal.timeout(answerMax_ms + GIVE_UP_AFTER_MS)
    const authorization = bearer && { authorization: `Bearer ${bearer}` }
    const { method = body ? 'POST' : 'GET' } = call
    const init = { method, headers: { ...headers, ...authorization }, body, signal }
    const { status, text, error } = await fetch(site.url + path, init)
      .then(async (response) => {
        atHead?.(response.status)
        return { status: response.status, text: await response.text(), error: undefined }
      })
      .catch((error: Error) => ({ status: undefined, text: '', error: error.cause ?? error }))
    const ended_ms = performance.now()
    const json = text.startsWith('{') ? JSON.parse(text) : undefined
    const good = status !== undefined && status < 300
    // 409: the first of two requests with one Idempotency-Key is still running somewhere.
    const counts = !site.wasDownSince(began_ms) && status !== 409
    const answer = { operation, site, began_ms, ended_ms, status, json, good, counts }
    recorder.total += 1
    if (operation !== 'probe') recorder.answers.push(answer)
    check(answer, call, error)
    return answer
  }

  function check(answer: Answer, { bearer = '' }: Call, error: unknown): void {
    const { operation, site, began_ms, ended_ms, status, json, good, counts } = answer
    const { outage, revokedHeads } = recorder
    const violation = (text: string) =>
      recorder.violation(`${operation} at ${site.name}, ${at(began_ms)} to ${at(ended_ms)}: ${text}`)
    if (status !== undefined && status >= 500 && status !== 503)
      violation(`${status} ${JSON.stringify(json)}`)
    if (status === undefined && counts) violation(`no answer from a process that runs: ${error}`)
    if (counts && ended_ms - began_ms > answerMax_ms)
      violation(`an answer after ${Math.round(ended_ms - began_ms)} ms`)
    if (status === 401 && operation !== 'probe' && !revokedHeads.has(tokenHead(bearer)))
      violation(`401 to what nobody revoked: ${JSON.stringify(json)}`)
    if (good && outage?.services.includes(site.service) && began_ms > outage.since_ms + outage.remembered_ms)
      violation(`${status} though ${outage.what}`)
  }
  return recorder
}
