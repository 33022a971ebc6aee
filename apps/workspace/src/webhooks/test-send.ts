import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { sendTestEvent } from '../api/callbacks.ts'
import type { TestSendResult } from '../api/contract.ts'
import { ApiProblem } from '../api/request.ts'

export interface TestSend {
  result: TestSendResult | undefined
  failure: { title: string; text: string } | undefined
  /** When the send that is under way began. */
  startedAt: number | undefined
  send: () => Promise<void>
}

/** The last test of this company stays until the next one, or until the session ends. */
export function useTestSend(vendorId: string): TestSend {
  const queryClient = useQueryClient()
  const key = ['callback-test', vendorId]
  const [result, setResult] = useState(() => queryClient.getQueryData<TestSendResult>(key))
  const [failure, setFailure] = useState<TestSend['failure']>()
  const [startedAt, setStartedAt] = useState<number>()
  const sending = useRef(false)

  async function send(): Promise<void> {
    if (sending.current) return
    sending.current = true
    setStartedAt(Date.now())
    setFailure(undefined)
    try {
      const answer = await sendTestEvent(vendorId)
      queryClient.setQueryDefaults(key, { gcTime: Number.POSITIVE_INFINITY })
      queryClient.setQueryData(key, answer)
      setResult(answer)
    } catch (error) {
      setFailure(explained(error))
    } finally {
      sending.current = false
      setStartedAt(undefined)
    }
  }
  return { result, failure, startedAt, send }
}

function explained(error: unknown): { title: string; text: string } {
  if (!(error instanceof ApiProblem)) {
    return { title: 'No answer came', text: 'The test event may or may not have been sent. Try again.' }
  }
  if (error.code === 'test_in_progress') {
    return {
      title: 'A test is under way already',
      text: 'Somebody of your company started one. Wait for it to end.',
    }
  }
  if (error.status === 429) {
    const wait = error.retryAfterSeconds ? `in ${error.retryAfterSeconds} seconds` : 'in a while'
    return { title: 'That was many tests in a short time', text: `Send the next one ${wait}.` }
  }
  return { title: 'The test event was not sent', text: error.message }
}
