import { onlineManager } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { queryClient } from '../api/query.ts'
import { ApiProblem } from '../api/request.ts'
import { Button } from './Button.tsx'
import { type ErrorWords, explain, UNREACHABLE } from './explain.ts'
import { AboutError, Notice } from './Notice.tsx'

export interface LoadedQuery<T> {
  data: T | undefined
  error: Error | null
  isFetching: boolean
  fetchStatus: 'fetching' | 'paused' | 'idle'
  refetch: () => unknown
}

export interface LoadedProps<T> {
  query: LoadedQuery<T>
  /** Takes the room of what is to come. */
  skeleton: ReactNode
  /** In place of an offer to try again, when what was asked for does not exist. */
  missing?: ReactNode
  children: (data: T) => ReactNode
}

/** Shows a query's data, its skeleton until it has loaded, or its error with a button to try again. */
export function Loaded<T>({ query, skeleton, missing, children }: LoadedProps<T>) {
  if (query.data !== undefined) {
    return (
      <>
        {children(query.data)}
        {query.error && query.fetchStatus !== 'paused' && <Stale />}
      </>
    )
  }
  if (missing && query.error instanceof ApiProblem && query.error.status === 404) return missing
  if (query.error) return <Failed query={query} error={query.error} />
  if (query.fetchStatus === 'paused' && !onlineManager.isOnline()) {
    return (
      <Notice tone="warn" title="You are offline" live>
        This loads as soon as you are back online.
      </Notice>
    )
  }
  return (
    <div role="status">
      <span className="sr-only">Loading</span>
      {skeleton}
    </div>
  )
}

const WORDS: ErrorWords = {
  title: 'Something went wrong',
  noAnswer: UNREACHABLE,
  403: 'Your role does not allow this',
  404: 'Not found',
  429: 'Too many requests',
  503: 'The service is not available right now',
}

function Failed({ query, error }: { query: LoadedQuery<unknown>; error: Error }) {
  const failure = explain(error, WORDS)
  return (
    <Notice
      tone={error instanceof ApiProblem && error.status < 500 ? 'info' : 'warn'}
      title={failure?.title}
      live
      actions={
        <Button busy={query.isFetching} onClick={() => void query.refetch()}>
          Try again
        </Button>
      }
    >
      {failure?.text} <AboutError code={failure?.code} />
      {error instanceof ApiProblem && error.requestId && error.status >= 500 && (
        <span className="mt-1 block text-sm text-muted">
          Request <code>{error.requestId}</code>
        </span>
      )}
    </Notice>
  )
}

/** Reads again all that could not be read. The bars of several queries lie over each other. */
const retryFailed = () =>
  queryClient.refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' })

/** Lies over the page: what was read before stays where it was. */
function Stale() {
  const [isTrying, setIsTrying] = useState(false)
  async function tryAgain(): Promise<void> {
    // Other words in between, so that a second failure is read out like the first.
    setIsTrying(true)
    await retryFailed()
    setIsTrying(false)
  }
  return (
    <div
      className="fixed start-1/2 bottom-[calc(20px+var(--bar))] z-20 flex w-max max-w-[calc(100vw-32px)] -translate-x-1/2 items-center gap-2 rounded-md border border-warn bg-warn-soft py-1.5 ps-4 pe-2 text-warn"
      role="status"
    >
      <p>{isTrying ? 'Refreshing…' : 'This may be out of date: it could not be refreshed.'}</p>
      <Button variant="quiet" busy={isTrying} onClick={() => void tryAgain()}>
        Try again
      </Button>
    </div>
  )
}
