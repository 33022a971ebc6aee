import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import {
  BODY_TIMEOUT_MS,
  type BodyEnd,
  type Exchange,
  type ReceiverAnswer,
} from '../guarded-fetch/exchange.ts'
import type { FetchFailure } from '../guarded-fetch/failures.ts'
import { instant } from '../http/instant.ts'
import { adviceOnFailure, adviceOnStatus } from './advice.ts'
import { displayBody, displayLines } from './receiver-text.ts'

const milliseconds = z.int().nonnegative()

export const CallbackTest = z
  .object({
    delivered: z
      .boolean()
      .meta({ description: 'True if a valid HTTP response came back, whatever its status.' }),
    status: z.int().nullable().meta({ description: 'The HTTP status that the receiver answered with.' }),
    outcome: z.enum(['success', 'receiver_failure', 'unconfirmed']).meta({
      description: 'success: 2xx. receiver_failure: any other status. unconfirmed: no answer.',
    }),
    durationMs: milliseconds,
    timings: z
      .object({
        dnsMs: milliseconds.nullable(),
        connectMs: milliseconds.nullable(),
        tlsMs: milliseconds.nullable(),
        // From the end of the TLS handshake.
        firstByteMs: milliseconds.nullable(),
      })
      .meta({ description: 'How long each phase took; null if it did not finish or was not needed.' }),
    url: z.string().meta({ description: 'The saved URL that the event was sent to.' }),
    sentAt: instant,
    receiver: z
      .object({ address: z.string(), certificateExpiresAt: instant.nullable() })
      .meta({ id: 'CallbackReceiver' })
      .nullable()
      .meta({ description: 'null if no connection was made.' }),
    log: z.array(z.string()).meta({
      description:
        'What happened and what the receiver answered: plain text without secrets. Show it as text, not as HTML.',
    }),
    advice: z.string().meta({ description: 'What to do next, in one sentence.' }),
  })
  .meta({ id: 'CallbackTest' })

export type TestResult = z.infer<typeof CallbackTest>

/** What was measured during a test. */
export interface TestFacts {
  url: string
  host: string
  port: number
  /** How many addresses the name has; null for an IP literal, which needs no DNS. */
  addressCount: number | null
  sentAt: Date
  durationMs: number
  dnsMs: number | null
  exchange: Exchange | null
  /** Why no request was sent. */
  failure: FetchFailure | null
}

export const BODY_LIMIT_BYTES = 16 * 1_024
const HEADERS_SHOWN = 30

/** Returns the result for a person. All text from the receiver is plain, redacted and cut to size. */
export function testResult(facts: TestFacts): TestResult {
  const { exchange, url } = facts
  const answer = exchange?.answer ?? null
  const failure = facts.failure ?? exchange?.failure ?? null
  const certificate = exchange?.certificate ?? null
  const timings = timingsOf(facts)
  return {
    delivered: answer !== null,
    status: answer?.status ?? null,
    outcome: answer === null ? 'unconfirmed' : answer.status < 300 ? 'success' : 'receiver_failure',
    durationMs: Math.round(facts.durationMs),
    timings,
    url,
    sentAt: facts.sentAt.toISOString(),
    receiver: exchange?.peer
      ? { address: exchange.peer, certificateExpiresAt: certificate?.expiresAt?.toISOString() ?? null }
      : null,
    log: logOf(facts, timings, failure),
    advice: answer
      ? adviceOnStatus(answer.status)
      : adviceOnFailure(failure ?? 'closed', { host: facts.host, certificate }),
  }
}

function timingsOf({ dnsMs, exchange }: TestFacts): TestResult['timings'] {
  const { connecting, connected, secured, firstByte } = exchange?.moments ?? {}
  return {
    dnsMs: dnsMs === null ? null : Math.round(dnsMs),
    connectMs: between(connecting, connected),
    tlsMs: between(connected, secured),
    firstByteMs: between(secured, firstByte),
  }
}

const between = (from: number | undefined, to: number | undefined): number | null =>
  from === undefined || to === undefined ? null : Math.round(to - from)

/** The steps of the test, one per line, then the receiver's answer. */
function logOf(
  { exchange, host, port, addressCount }: TestFacts,
  timings: TestResult['timings'],
  failure: FetchFailure | null,
): string[] {
  const lines: string[] = []
  if (addressCount !== null && addressCount > 0 && exchange) {
    lines.push(
      `${host} has ${addressCount} public ${addressCount === 1 ? 'address' : 'addresses'} (${timings.dnsMs} ms)`,
    )
  }
  if (exchange?.peer) lines.push(`connected to ${exchange.peer}, port ${port} (${timings.connectMs} ms)`)
  if (timings.tlsMs !== null) {
    const expiresAt = exchange?.certificate?.expiresAt
    const until = expiresAt ? `, certificate valid until ${expiresAt.toISOString()}` : ''
    lines.push(`${exchange?.tlsVersion?.replace('TLSv', 'TLS ') ?? 'TLS'}${until} (${timings.tlsMs} ms)`)
    if (failure !== 'send_timeout') lines.push('sent POST with Content-Type: application/json')
  }
  if (failure) lines.push(`failed: ${failure}`)
  return exchange?.answer ? [...lines, ...answerLines(exchange.answer, timings)] : lines
}

function answerLines(answer: ReceiverAnswer, timings: TestResult['timings']): string[] {
  const phrase = STATUS_CODES[answer.status]
  const time = timings.firstByteMs === null ? '' : ` (${timings.firstByteMs} ms)`
  const note = BODY_NOTES[answer.bodyEnd]
  return [
    `answer: ${answer.status}${phrase ? ` ${phrase}` : ''}${time}`,
    ...headerLines(answer),
    ...bodyLines(answer),
    ...(note ? [note] : []),
  ]
}

/** Marks text from the receiver, so that it cannot pass for a step of the test. */
const quote = (line: string): string => `| ${line}`

/** Headers arrive as Latin-1 (RFC 9110 §5.5). */
function headerLines({ headers }: ReceiverAnswer): string[] {
  const lines = headers
    .slice(0, HEADERS_SHOWN)
    .map(([name, value]) => quote(displayLines(`${name.toLowerCase()}: ${value}`).join(' ')))
  const more = headers.length - HEADERS_SHOWN
  return more > 0 ? [...lines, `… and ${more} more headers`] : lines
}

function bodyLines(answer: ReceiverAnswer): string[] {
  const body = displayBody({
    bytes: answer.body,
    whole: answer.bodyEnd === 'whole',
    contentType: headerOf(answer, 'content-type'),
    contentEncoding: headerOf(answer, 'content-encoding'),
  })
  return 'summary' in body ? [body.summary] : body.lines.map(quote)
}

const headerOf = ({ headers }: ReceiverAnswer, name: string): string | undefined =>
  headers.find(([key]) => key.toLowerCase() === name)?.[1]

const BODY_NOTES: Record<BodyEnd, string | null> = {
  whole: null,
  too_long: `the body was cut after ${BODY_LIMIT_BYTES / 1_024} KiB`,
  too_slow: `the body was cut after ${BODY_TIMEOUT_MS / 1_000} seconds`,
  malformed: 'the rest of the body breaks HTTP/1.1: a wrong chunk, or bytes after the end',
  broken: 'the connection broke before the body was complete',
}
