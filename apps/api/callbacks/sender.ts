import type { Clock } from '#shared/process/clock.ts'
import type { AddressRule } from './address-verdict.ts'
import { type Exchange, exchange } from './exchange.ts'
import type { Failure } from './failures.ts'
import { judgeName } from './name-verdict.ts'
import { type TestResult, testResult } from './report.ts'
import type { Resolve } from './resolver.ts'
import { type CallbackUrl, judgeCallbackUrl } from './url-verdict.ts'

/** From the first question to DNS to the end of the answer's body. */
export const TOTAL_TIMEOUT_MS = 10_000

export interface TestSenderDependencies {
  clock: Clock
  resolve: Resolve
  judgeAddress: AddressRule
  /** Certificate authorities in PEM; undefined: the ones that Node knows. */
  certificateAuthority?: string | undefined
}

export interface TestEvent {
  /** The saved destination. */
  url: string
  vendorId: string
  /** The caller has gone: the send ends at once. */
  signal: AbortSignal
}

export interface TestSender {
  /**
   * Sends one test event and tells what became of it, within 10 s. Never rejects.
   * @returns null when it was stopped: by `signal`, or by close().
   */
  send(event: TestEvent): Promise<TestResult | null>
  /** Stops every send that is under way and takes no more; resolves when none is left. */
  close(): Promise<void>
}

export function createTestSender(dependencies: TestSenderDependencies): TestSender {
  const underway = new Map<AbortController, Promise<TestResult>>()
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
        const result = await sending
        return stop.signal.reason === 'stopped' ? null : result
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
): Promise<TestResult> {
  const started = performance.now()
  const sentAt = new Date(clock.now())
  const verdict = judgeCallbackUrl(saved, judgeAddress)
  const url = verdict.ok ? verdict.url : null
  const way = url ? await findWay(url, { resolve, judgeAddress, signal }) : REFUSED
  let facts: Exchange | null = null
  if (url && way.failure === null) {
    const payload = JSON.stringify({ type: 'test_event', vendorId, sentAt: sentAt.toISOString() })
    const { addresses } = way
    facts = await exchange({ href: url.href, addresses, judgeAddress, certificateAuthority, payload, signal })
  }
  return testResult({
    url: saved,
    host: url?.hostname ?? '',
    port: url?.port ?? 443,
    addressCount: url?.address == null ? way.addresses.length : null,
    sentAt,
    durationMs: performance.now() - started,
    dnsMs: way.dnsMs,
    exchange: facts,
    failure: way.failure,
    judgeAddress,
  })
}

interface Way {
  /** Judged public, in canonical form; empty when there is a failure. */
  addresses: string[]
  dnsMs: number | null
  failure: Failure | null
}

const REFUSED: Way = { addresses: [], dnsMs: null, failure: 'url_refused' }

/** The addresses to connect to. DNS is asked once, here, and never again. */
async function findWay(
  url: CallbackUrl,
  { resolve, judgeAddress, signal }: { resolve: Resolve; judgeAddress: AddressRule; signal: AbortSignal },
): Promise<Way> {
  if (url.address !== null) return { addresses: [url.address], dnsMs: null, failure: null }
  const asked = performance.now()
  const verdict = await judgeName(url.hostname, { resolve, judgeAddress, signal })
  const dnsMs = performance.now() - asked
  if (signal.aborted) return { addresses: [], dnsMs: null, failure: signal.reason as Failure }
  switch (verdict.kind) {
    case 'public':
      return { addresses: verdict.addresses, dnsMs, failure: null }
    case 'not_public':
      return { addresses: [], dnsMs, failure: 'address_not_public' }
    case 'not_found':
      return { addresses: [], dnsMs, failure: 'name_not_found' }
    case 'no_answer':
      return { addresses: [], dnsMs: null, failure: 'name_unanswered' }
  }
}
