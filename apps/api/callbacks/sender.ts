import type { Clock } from '#shared/process/clock.ts'
import { failedLookup, findAddresses } from '../guarded-fetch/address-lookup.ts'
import { type Exchange, exchange, type PeerRefusal } from '../guarded-fetch/exchange.ts'
import type { FetchFailure } from '../guarded-fetch/failures.ts'
import type { Internet } from '../guarded-fetch/internet.ts'
import { checkPublicUrl } from '../guarded-fetch/url-verdict.ts'
import { BODY_LIMIT_BYTES, type TestResult, testResult } from './test-result.ts'

/** The deadline from the DNS query to the end of the answer's body. */
export const TOTAL_TIMEOUT_MS = 10_000

export interface TestSenderDependencies extends Internet {
  clock: Clock
}

export interface TestEvent {
  /** The saved destination. */
  url: string
  vendorId: string
  /** Aborted when the caller disconnects. The send then ends at once. */
  signal: AbortSignal
}

/** The result of a test for the person, and what the log says of it. */
export interface TestOutcome {
  /** null if `signal` or close() stopped it. */
  result: TestResult | null
  /** The host of the saved URL; null if that URL is no longer allowed. */
  host: string | null
  /** Why no answer came; null if one came. */
  failure: FetchFailure | null
  /** Why an address was refused, if one was: in the URL, in DNS, or of the connected peer. */
  addressReason: PeerRefusal | null
}

export interface TestSender {
  /** Sends one test event and reports the outcome, within 10 s. Never rejects. */
  send(event: TestEvent): Promise<TestOutcome>
  /** Stops all running sends and refuses new ones. Resolves when none is left. */
  close(): Promise<void>
}

export function createTestSender(dependencies: TestSenderDependencies): TestSender {
  const running = new Map<AbortController, Promise<TestOutcome>>()
  let closed = false
  return {
    async send(event) {
      const stop = new AbortController()
      const onStop = () => stop.abort('stopped' satisfies FetchFailure)
      const timer = setTimeout(() => stop.abort('total_timeout' satisfies FetchFailure), TOTAL_TIMEOUT_MS)
      event.signal.addEventListener('abort', onStop)
      if (closed || event.signal.aborted) onStop()
      const test = sendOnce(dependencies, event, stop.signal)
      running.set(stop, test)
      try {
        const outcome = await test
        return stop.signal.reason === 'stopped' ? { ...outcome, result: null, failure: 'stopped' } : outcome
      } finally {
        clearTimeout(timer)
        event.signal.removeEventListener('abort', onStop)
        running.delete(stop)
      }
    },
    async close() {
      closed = true
      for (const stop of running.keys()) stop.abort('stopped' satisfies FetchFailure)
      await Promise.allSettled(running.values())
    },
  }
}

async function sendOnce(
  { clock, resolve, checkAddress, certificateAuthority }: TestSenderDependencies,
  { url: savedUrl, vendorId }: TestEvent,
  signal: AbortSignal,
): Promise<TestOutcome> {
  const started_ms = performance.now()
  const sentAt = new Date(clock.now())
  const verdict = checkPublicUrl(savedUrl, checkAddress)
  const url = verdict.ok ? verdict.url : null
  const lookup = verdict.ok
    ? await findAddresses(verdict.url, { resolve, checkAddress, signal })
    : failedLookup('url_refused', { addressReason: verdict.addressReason })
  let facts: Exchange | null = null
  if (url && lookup.failure === null) {
    facts = await exchange({
      href: url.href,
      addresses: lookup.addresses,
      checkAddress,
      certificateAuthority,
      payload: JSON.stringify({ type: 'test_event', vendorId, sentAt: sentAt.toISOString() }),
      bodyLimit_bytes: BODY_LIMIT_BYTES,
      signal,
    })
  }
  const result = testResult({
    url: savedUrl,
    host: url?.hostname ?? '',
    port: url?.port ?? 443,
    addressCount: url?.address == null ? lookup.addresses.length : null,
    sentAt,
    durationMs: performance.now() - started_ms,
    dnsMs: lookup.dnsMs,
    exchange: facts,
    failure: lookup.failure,
  })
  return {
    result,
    host: url?.hostname ?? null,
    failure: lookup.failure ?? facts?.failure ?? null,
    addressReason: lookup.addressReason ?? facts?.peerRefused ?? null,
  }
}
