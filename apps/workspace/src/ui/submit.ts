import { useRef, useState } from 'react'
import { ApiProblem, Offline, retryIn } from '../api/request.ts'

export interface ErrorMessage {
  title: string
  text: string
  /** The code of the API's problem, if it answered with one. */
  code?: string | undefined
}

export const UNREACHABLE: ErrorMessage = {
  title: 'The service cannot be reached',
  text: 'Check your connection, then try again.',
}

/** For a request that may be sent again. */
export const NO_ANSWER: ErrorMessage = {
  title: 'No answer came',
  text: 'It may or may not be done. It is safe to try again.',
}

/** How an error is put into words. */
export interface ErrorWords {
  /** The title of what has no words of its own. */
  title: string
  /** For a request without an answer. By default the title, and that the service could not be reached. */
  noAnswer?: ErrorMessage
  /** By the code or status of the API's problem. A title alone is followed by the problem's own sentence. */
  [codeOrStatus: string | number]: ErrorMessage | string | undefined
}

export function describeError(error: unknown, words: ErrorWords): ErrorMessage {
  if (error instanceof Offline)
    return { title: 'You are offline', text: 'Nothing was sent. Try again once you are connected.' }
  if (!(error instanceof ApiProblem))
    return words.noAnswer ?? { title: words.title, text: (error as Error).message }
  const message = words[error.code ?? ''] ?? words[error.status]
  if (typeof message === 'object') return { ...message, code: error.code }
  if (error.fieldsMarked) return { title: message ?? words.title, text: 'Correct the marked fields.' }
  return error.status === 429
    ? { title: message ?? 'Too many attempts', text: `Try again ${retryIn(error)}.`, code: error.code }
    : { title: message ?? words.title, text: error.message, code: error.code }
}

export interface Submission {
  isPending: boolean
  /** When the work under way began, in milliseconds since the epoch. */
  startedAt: number | undefined
  /** Why the last try failed. */
  failure: ErrorMessage | undefined
  /** Does the work unless some is under way already. Never rejects. Returns whether it succeeded. */
  run: (work: () => Promise<void>) => Promise<boolean>
}

/** One piece of work at a time, and what went wrong with the last. */
export function useSubmission(words: ErrorWords): Submission {
  const isRunning = useRef(false)
  const [startedAt, setStartedAt] = useState<number>()
  const [failure, setFailure] = useState<ErrorMessage>()

  async function run(work: () => Promise<void>): Promise<boolean> {
    if (isRunning.current) return false
    isRunning.current = true
    setStartedAt(Date.now())
    setFailure(undefined)
    try {
      await work()
      return true
    } catch (error) {
      setFailure(describeError(error, words))
      return false
    } finally {
      isRunning.current = false
      setStartedAt(undefined)
    }
  }
  return { isPending: startedAt !== undefined, startedAt, failure, run }
}
