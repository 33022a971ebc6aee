import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import type { TestSendResult } from '../api/contract.ts'
import { queryClient } from '../api/query.ts'
import { sendTestEvent } from '../api/resources.ts'
import { type ErrorWords, explain } from '../ui/explain.ts'

/** How many tests of this visit stay listed. */
const KEPT = 10

const NO_RESULTS: readonly TestSendResult[] = []

/** The tests of a company stay listed until the session ends, for comparing. No request reads them. */
const resultsOptions = (vendorId: string) =>
  queryOptions({
    queryKey: [vendorId, 'callback-tests'],
    initialData: NO_RESULTS,
    enabled: false,
    gcTime: Number.POSITIVE_INFINITY,
  })

const WORDS: ErrorWords = {
  title: 'The test event was not sent',
  uncertain: 'The test event may or may not have been sent',
  test_in_progress: {
    title: 'A test is already running',
    text: 'Someone in your company started it. Wait for it to finish.',
  },
  429: 'Too many tests in a short time',
}

export type TestSend = ReturnType<typeof useTestSend>

export function useTestSend(vendorId: string) {
  /** The results of this visit, newest first. */
  const { data: results } = useQuery(resultsOptions(vendorId))
  const { isPending, error, mutate } = useMutation({
    async mutationFn() {
      const result = await sendTestEvent(vendorId)
      queryClient.setQueryData(resultsOptions(vendorId).queryKey, (before = NO_RESULTS) =>
        [result, ...before].slice(0, KEPT),
      )
    },
  })
  return { results, failure: explain(error, WORDS), isPending, send: () => mutate() }
}

export interface TestVerdict {
  tone: 'good' | 'bad' | 'warn'
  title: string
  /** Whether any byte of the event can have left. */
  sent: boolean
}

const chooseVerb = (status: number): string =>
  status < 400 ? 'redirects' : status < 500 ? 'rejected the event' : 'failed'

/** The event follows the TLS handshake, so without that nothing was sent. */
export function testVerdict({ outcome, status, timings }: TestSendResult): TestVerdict {
  const sent = timings.tlsMs !== null || status !== null
  if (outcome === 'success')
    return { tone: 'good', sent, title: `Delivered: your receiver answered ${status}` }
  if (outcome === 'receiver_failure')
    return { tone: 'bad', sent, title: `Your receiver ${chooseVerb(status ?? 0)} (${status})` }
  if (sent) return { tone: 'warn', sent, title: 'No answer: the event may not have arrived' }
  const secure = timings.connectMs === null ? '' : 'secure '
  return { tone: 'warn', sent, title: `Not sent: no ${secure}connection to your receiver` }
}
