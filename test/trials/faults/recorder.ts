import { setTimeout as sleep } from 'node:timers/promises'
import { OUTSIDE_BLIND_MS } from './outside.ts'
import type { Site } from './site.ts'

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
  method?: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
  /** Runs at the moment that the head of the answer is there. */
  atHead?(status: number): void
}

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
  const violations: string[] = []
  const pending = new Set<{ began_ms: number }>()
  let answers: Answer[] = []
  let total = 0
  let phase = 'start'
  let goneSince_ms: number | undefined
  let feedGoneSince_ms: number | undefined
  const at = (time_ms: number) => `${((time_ms - origin_ms) / 1_000).toFixed(3)} s`

  function violation(text: string): void {
    violations.push(`[${at(performance.now())}, ${phase}] ${text}`)
  }

  function check({ operation, site, began_ms, ended_ms, status, json, counts }: Answer, error: string): void {
    const what = `${operation} at ${site.name}, ${at(began_ms)} to ${at(ended_ms)}`
    if (status !== undefined && status >= 500 && status !== 503)
      violation(`${what}: ${status} ${JSON.stringify(json)}`)
    if (status === undefined && counts) violation(`${what}: no answer from a process that runs: ${error}`)
    if (counts && ended_ms - began_ms > answerMax_ms)
      violation(`${what}: an answer after ${Math.round(ended_ms - began_ms)} ms`)
    if (!isGood(status)) return
    if (site.service === 'outside') {
      const isBlind = feedGoneSince_ms !== undefined && began_ms > feedGoneSince_ms + OUTSIDE_BLIND_MS
      if (isBlind) violation(`${what}: ${status} though it has been cut off for ${OUTSIDE_BLIND_MS} ms`)
    } else if (goneSince_ms !== undefined && began_ms > goneSince_ms + ALREADY_ASKED_MS)
      violation(`${what}: ${status} though neither store could be asked`)
  }

  return {
    /** Sends a request, and checks what must hold of every answer. Never rejects. */
    async call({ operation, site, method = 'GET', path, headers, body, atHead }: Call): Promise<Answer> {
      const began_ms = performance.now()
      const entry = { began_ms }
      pending.add(entry)
      let status: number | undefined
      let text = ''
      let error = ''
      try {
        const signal = AbortSignal.timeout(answerMax_ms + GIVE_UP_AFTER_MS)
        const response = await fetch(site.url + path, {
          method,
          signal,
          headers,
          body: body ?? null,
        } as RequestInit)
        atHead?.(response.status)
        text = await response.text()
        status = response.status
      } catch (caught) {
        error = reasonOf(caught)
      }
      pending.delete(entry)
      const ended_ms = performance.now()
      const json = text.startsWith('{') ? JSON.parse(text) : undefined
      // 409: the first of two requests with one Idempotency-Key is still running somewhere.
      const counts = !site.wasDown(began_ms, ended_ms) && status !== 409
      const answer = { operation, site, began_ms, ended_ms, status, json, good: isGood(status), counts }
      total += 1
      if (operation !== 'probe') answers.push(answer)
      check(answer, error)
      return answer
    },
    /** Returns all answers since they were last forgotten. */
    answers: (): readonly Answer[] => answers,
    forget() {
      answers = []
    },
    total: () => total,
    violation,
    violations: (): readonly string[] => violations,
    /** Names in each violation what is going on. */
    during(what: string) {
      phase = what
    },
    /** From now on until the next call with `false`, neither store can be asked. */
    storesGone(gone: boolean) {
      goneSince_ms = gone ? performance.now() : undefined
    },
    /** From now on until the next call with `false`, no outside verifier reaches the authorization server. */
    feedGone(gone: boolean) {
      feedGoneSince_ms = gone ? performance.now() : undefined
    },
    /** Resolves when every request that began before now has ended. */
    async settled() {
      const now_ms = performance.now()
      while ([...pending].some(({ began_ms }) => began_ms < now_ms)) await sleep(POLL_MS)
    },
  }
}

const isGood = (status: number | undefined): boolean => status !== undefined && status < 300

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}
