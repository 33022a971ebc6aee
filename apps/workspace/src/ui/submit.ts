import { useRef, useState } from 'react'
import { ApiProblem } from '../api/request.ts'

export interface Failure {
  title: string
  text: string
  /** The code of the API's problem, if it answered with one. */
  code?: string | undefined
}

export const OFFLINE: Failure = {
  title: 'You are offline',
  text: 'Nothing was sent. Try again once you are connected.',
}

export interface Submission {
  busy: boolean
  /** When the work under way began, in milliseconds since the epoch. */
  startedAt: number | undefined
  /** Why the last try failed. */
  failure: Failure | undefined
  /** Does the work unless some is under way already. Never rejects. Returns whether it succeeded. */
  run: (work: () => Promise<void>) => Promise<boolean>
}

/** One piece of work at a time, and what went wrong with the last. @param explain puts an error into words. */
export function useSubmission(explain: (error: unknown) => Failure): Submission {
  const underWay = useRef(false)
  const [startedAt, setStartedAt] = useState<number>()
  const [failure, setFailure] = useState<Failure>()

  async function run(work: () => Promise<void>): Promise<boolean> {
    if (underWay.current) return false
    underWay.current = true
    setStartedAt(Date.now())
    setFailure(undefined)
    try {
      await work()
      return true
    } catch (error) {
      setFailure({ ...explain(error), code: error instanceof ApiProblem ? error.code : undefined })
      return false
    } finally {
      underWay.current = false
      setStartedAt(undefined)
    }
  }
  return { busy: startedAt !== undefined, startedAt, failure, run }
}
