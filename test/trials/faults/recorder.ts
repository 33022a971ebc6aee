import { setTimeout as sleep } from 'node:timers/promises'
import { OUTSIDE_BLIND_MS } from './outside.ts'
import type { Site } from './site.ts'
import type { ClientSecret, Company } from './world.ts'

/** What the table counts; a probe asks for what was revoked, and is no part of it. */
export const OPERATIONS = ['read', 'token', 'ingest', 'workspace', 'revoke', 'outside'] as const
export type Operation = (typeof OPERATIONS)[number] | 'probe'

/** A request is given up this long after it should have been answered. */
const GIVE_UP_AFTER_MS = 4_000
/** A request that came just before the stores were gone may still be answered by what they said. */
const ALREADY_ASKED_MS = 500
const POLL_MS = 50

export interface Call {
  operation: Operation
  site: Site
  /** Default: POST with a form or JSON, GET without. */
  method?: 'POST'
  path: string
  bearer?: string
  headers?: Record<string, string>
  form?: Record<string, string>
  json?: object
  /** Runs at the moment that the head of the answer is there. */
  atHead?(status: number): void
}

type Request = Pick<Call, 'path' | 'bearer' | 'form'>

export const tokenRequest = ({ clientId, clientSecret }: ClientSecret, scope: string): Request => ({
  path: '/v1/oauth/token',
  form: { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope },
})

export const dailyRead = ({ vendorId }: Company, bearer: string): Request => ({
  path: `/v1/analytics/${vendorId}/daily`,
  bearer,
})

/** To a service of somebody else. */
export const outsideRead = ({ vendorId }: Company, bearer: string): Request => ({
  path: `/${vendorId}`,
  bearer,
})

/** Times are of performance.now(). */
export interface Answer {
  operation: Operation
  site: Site
  began_ms: number
  ended_ms: number
  /** undefined: there was none. */
  status: number | undefined
  // biome-ignore lint/suspicious/noExplicitAny: answers of any shape.
  json: any
  good: boolean
  /** Whether it says anything of its process, which it does not if that was stopped or gone meanwhile. */
  counts: boolean
}

export type Recorder = ReturnType<typeof createRecorder>

/** @param answerMax_ms a later answer is a violation. */
export function createRecorder(answerMax_ms: number) {
  const origin_ms = performance.now()
  const pending = new Set<{ began_ms: number }>()
  const at = (time_ms: number) => `${((time_ms - origin_ms) / 1_000).toFixed(3)} s`
  const recorder = {
    violations: [] as string[],
    /** What is going on, which each violation names. */
    phase: 'start',
    /** All of one fault, but for those of probes. */
    answers: [] as Answer[],
    /** How many there were in all. */
    total: 0,
    /** Since when neither store can be asked. */
    storesGoneSince_ms: undefined as number | undefined,
    /** Since when no outside verifier reaches the authorization server. */
    feedGoneSince_ms: undefined as number | undefined,
    violation(text: string) {
      recorder.violations.push(`[${at(performance.now())}, ${recorder.phase}] ${text}`)
    },
    /** Sends a request, and checks what must hold of every answer. Never rejects. */
    async call({ operation, site, atHead, ...request }: Call): Promise<Answer> {
      const began_ms = performance.now()
      const entry = { began_ms }
      pending.add(entry)
      let status: number | undefined
      let text = ''
      let error = ''
      try {
        const signal = AbortSignal.timeout(answerMax_ms + GIVE_UP_AFTER_MS)
        const response = await fetch(site.url + request.path, { ...fetchOptions(request), signal })
        atHead?.(response.status)
        text = await response.text()
        status = response.status
      } catch (caught) {
        error = reasonOf(caught)
      }
      pending.delete(entry)
      const ended_ms = performance.now()
      const json = text.startsWith('{') ? JSON.parse(text) : undefined
      const good = status !== undefined && status < 300
      // 409: the first of two requests with one Idempotency-Key is still running somewhere.
      const counts = !site.wasDown(began_ms, ended_ms) && status !== 409
      const answer = { operation, site, began_ms, ended_ms, status, json, good, counts }
      recorder.total += 1
      if (operation !== 'probe') recorder.answers.push(answer)
      check(answer, error)
      return answer
    },
    /** Resolves when every request that began before now has ended. */
    async settled() {
      const now_ms = performance.now()
      while ([...pending].some(({ began_ms }) => began_ms < now_ms)) await sleep(POLL_MS)
    },
  }

  function check(answer: Answer, error: string): void {
    const { operation, site, began_ms, ended_ms, status, json, good, counts } = answer
    const { violation, storesGoneSince_ms, feedGoneSince_ms } = recorder
    const what = `${operation} at ${site.name}, ${at(began_ms)} to ${at(ended_ms)}`
    const isLaterThan = (since_ms: number | undefined, by_ms: number) =>
      since_ms !== undefined && began_ms > since_ms + by_ms
    if (status !== undefined && status >= 500 && status !== 503)
      violation(`${what}: ${status} ${JSON.stringify(json)}`)
    if (status === undefined && counts) violation(`${what}: no answer from a process that runs: ${error}`)
    if (counts && ended_ms - began_ms > answerMax_ms)
      violation(`${what}: an answer after ${Math.round(ended_ms - began_ms)} ms`)
    if (!good) return
    if (site.service === 'outside') {
      if (isLaterThan(feedGoneSince_ms, OUTSIDE_BLIND_MS))
        violation(`${what}: ${status} though it has been cut off for ${OUTSIDE_BLIND_MS} ms`)
    } else if (isLaterThan(storesGoneSince_ms, ALREADY_ASKED_MS))
      violation(`${what}: ${status} though neither store could be asked`)
  }
  return recorder
}

function fetchOptions({ method, bearer, headers, form, json }: Partial<Call>): RequestInit {
  const body = json ? JSON.stringify(json) : form ? new URLSearchParams(form) : null
  return {
    method: method ?? (body ? 'POST' : 'GET'),
    headers: {
      ...(bearer && { authorization: `Bearer ${bearer}` }),
      ...(json && { 'content-type': 'application/json' }),
      ...headers,
    },
    body,
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}
