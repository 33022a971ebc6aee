import { useState } from 'react'
import type { TestSendResult } from '../api/contract.ts'
import { queryClient } from '../api/query.ts'
import { ApiProblem, Offline, retryIn } from '../api/request.ts'
import { sendTestEvent } from '../api/resources.ts'
import { type Failure, useSubmission } from '../ui/submit.ts'

/** How many tests of this visit stay listed. */
const KEPT = 10

export interface TestSend {
  /** The results of this visit, newest first. */
  results: readonly TestSendResult[]
  failure: Failure | undefined
  /** When the send that is under way began, in milliseconds since the epoch. */
  startedAt: number | undefined
  send: () => Promise<void>
}

/** The tests of this company stay listed until the session ends, for comparing. */
export function useTestSend(vendorId: string): TestSend {
  const key = ['callback-test', vendorId]
  const [results, setResults] = useState(() => queryClient.getQueryData<TestSendResult[]>(key) ?? [])
  const { failure, startedAt, run } = useSubmission(explained)

  async function send(): Promise<void> {
    await run(async () => {
      const next = [await sendTestEvent(vendorId), ...results].slice(0, KEPT)
      queryClient.setQueryDefaults(key, { gcTime: Number.POSITIVE_INFINITY })
      queryClient.setQueryData(key, next)
      setResults(next)
    })
  }
  return { results, failure, startedAt, send }
}

function explained(error: unknown): Failure {
  if (error instanceof Offline) return { title: 'You are offline', text: 'No test event was sent.' }
  if (!(error instanceof ApiProblem)) {
    return { title: 'No answer came', text: 'The test event may or may not have been sent. Try again.' }
  }
  if (error.code === 'test_in_progress') {
    return {
      title: 'A test is already running',
      text: 'Someone in your company started it. Wait for it to finish.',
    }
  }
  if (error.status === 429) {
    return { title: 'Too many tests in a short time', text: `Send the next one ${retryIn(error)}.` }
  }
  return { title: 'The test event was not sent', text: error.message }
}
