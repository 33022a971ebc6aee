import type { Clock } from '#shared/process/clock.ts'
import type { AddressRule } from '../guarded-fetch/address-verdict.ts'
import { type Exchange, exchange, type PeerRefusal } from '../guarded-fetch/exchange.ts'
import type { Failure } from '../guarded-fetch/failures.ts'
import type { Resolve } from '../guarded-fetch/resolver.ts'
import { findAddresses, noRoute } from '../guarded-fetch/route.ts'
import { judgeCallbackUrl } from '../guarded-fetch/url-verdict.ts'
import { BODY_LIMIT_BYTES, type TestResult, testResult } from './report.ts'

/** The deadline from the DNS query to the end of the answer's body. */
export const TOTAL_TIMEOUT_MS = 10_000

export interface TestSenderDependencies {
  clock: Clock
  resolve: Resolve
  judgeAddress: AddressRule
  /** Certificate authorities in PEM; Node's own if undefined. */
  certificateAuthority?: string | undefined
}

export interface TestEvent {
  /** The saved destination. */
  url: string
  vendorId: string
  /** Aborted when the caller disconnects. The send then ends at once. */
  signal: AbortSignal
}

/** The outcome of a test: the result for the person, and the verdict for the log. */
export interface SentTest {
  /** null if `signal` or close() stopped it. */
  result: TestResult | null
  /** The host of the saved URL; null if that URL is no longer allowed. */
  host: string | null
  /** Why no answer came; null if one came. */
  failure: Failure | null
  /** Why an address was refused, if one was: in the URL, in DNS, or of the connected peer. */
  addressReason: PeerRefusal | null
}

export interface TestSender {
  /** Sends one test event and reports the outcome, within 10 s. Never rejects. */
  send(event: TestEvent): Promise<SentTest>
  /** Stops all running sends and refuses new ones. Resolves when none is left. */
  close(): Promise<void>
}

export function createTestSender(dependencies: TestSenderDependencies): TestSender {
  const underway = new Map<AbortController, Promise<SentTest>>()
  let closed = false
  return {
    async send(event) {
      const stop = new AbortController()
      const onStop = () => stop.abort('stopped' satisfies Failure)
      const timer = setTimeout(() => stop.abort('total_timeout' satisfies Failure), TOTAL_TIMEOUT_MS)
      event.signal.addEventListener('abort', onStop)
      if (closed || event.signal.aborted) onStop()
      const sending = attempt(dependencies, event, stop.signal)
      underway.set(stop, sending)
      try {
        const sent = await sending
        return stop.signal.reason === 'stopped' ? { ...sent, result: null, failure: 'stopped' } : sent
      } finally {
        clearTimeout(timer)
        event.signal.removeEventListener('abort', onStop)
        underway.delete(stop)
      }
    },
    async close() {
      closed = true
      for (const stop of underway.keys()) stop.abort('stopped' satisfies Failure)
      await Promise.allSettled(underway.values())
    },
  }
}

async function attempt(
  { clock, resolve, judgeAddress, certificateAuthority }: TestSenderDependencies,
  { url: saved, vendorId }: TestEvent,
  signal: AbortSignal,
): Promise<SentTest> {
  const started = performance.now()
  const sentAt = new Date(clock.now())
  const verdict = judgeCallbackUrl(saved, judgeAddress)
  const url = verdict.ok ? verdict.url : null
  const route = verdict.ok
    ? await findAddresses(verdict.url, { resolve, judgeAddress, signal })
    : noRoute('url_refused', { addressReason: verdict.addressReason })
  let facts: Exchange | null = null
  if (url && route.failure === null) {
    const payload = JSON.stringify({ type: 'test_event', vendorId, sentAt: sentAt.toISOString() })
    const { addresses } = route
    facts = await exchange({
      href: url.href,
      addresses,
      judgeAddress,
      certificateAuthority,
      payload,
      bodyLimit_bytes: BODY_LIMIT_BYTES,
      signal,
    })
  }
  const result = testResult({
    url: saved,
    host: url?.hostname ?? '',
    port: url?.port ?? 443,
    addressCount: url?.address == null ? route.addresses.length : null,
    sentAt,
    durationMs: performance.now() - started,
    dnsMs: route.dnsMs,
    exchange: facts,
    failure: route.failure,
  })
  return {
    result,
    host: url?.hostname ?? null,
    failure: route.failure ?? facts?.failure ?? null,
    addressReason: route.addressReason ?? facts?.peerRefused ?? null,
  }
}
