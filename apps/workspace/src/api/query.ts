import { focusManager, MutationCache, notifyManager, QueryClient, queryOptions } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { Data, Params, ReadPath } from './contract.ts'
import { type Answer, ApiProblem, api, mayHaveSucceeded } from './request.ts'
import { authenticatedRequest, checkSession, idleMinutes, subscribe } from './session.ts'

// What a press began is shown before the next event, so that Escape or a second press meets it.
notifyManager.setScheduler(queueMicrotask)

const RETRIES = 2
const RETRY_MS = 5_000

/** Whether the same request may succeed later. */
const isTransient = (error: Error): boolean => !(error instanceof ApiProblem && error.status < 500)

/** What screens have read in one session. A new secret must not enter it, so its request is not a query. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < RETRIES && isTransient(error),
      refetchInterval: ({ state: { error } }) => error !== null && isTransient(error) && RETRY_MS,
    },
    // Nothing waits for a connection, and no password that was sent outlives its form.
    mutations: { networkMode: 'always', gcTime: 0 },
  },
  // A change without an answer may have been made, so what is shown is read again.
  mutationCache: new MutationCache({
    onError: (error) => void (mayHaveSucceeded(error) && queryClient.invalidateQueries()),
  }),
})

/** What reads on its own counts as use of the session, so it stops once no one is there. */
const AWAY_MS = 5 * 60_000
let away: ReturnType<typeof setTimeout> | undefined

function resumeReading(): void {
  clearTimeout(away)
  focusManager.setFocused()
  away = setTimeout(stopReading, AWAY_MS)
}

/** The session then expires unless another tab uses it, and with it goes what is shown. */
function stopReading(): void {
  focusManager.setFocused(false)
  const idle_minutes = idleMinutes()
  // Uses are noted by the minute. To ask is one too, so it is asked only once.
  if (idle_minutes) away = setTimeout(() => void checkSession(), (idle_minutes + 1) * 60_000)
}
for (const input of ['keydown', 'focusin', 'pointermove', 'click', 'wheel', 'visibilitychange'])
  window.addEventListener(input, resumeReading, { capture: true, passive: true })
resumeReading()

const isReadingStopped = () => document.visibilityState === 'visible' && !focusManager.isFocused()

/** Whether a page that is seen reads nothing any more, until it is used. */
export const useReadingStopped = (): boolean => useSyncExternalStore(focusManager.subscribe, isReadingStopped)

// Data of one session is gone before the next.
subscribe((session) => {
  if (session.state === 'signed-out') queryClient.clear()
})

/** How a path is read. The path and its parameters are the key. */
export const read = <Path extends ReadPath>(path: Path, params: Params<Path>) =>
  queryOptions({
    queryKey: [path, params],
    queryFn({ signal }) {
      // TypeScript checks a call with a certain path, as those of this function are, but not one with any.
      const answer: Answer<Data<Path>> = api.GET(path, { params, signal } as never)
      return authenticatedRequest(answer)
    },
  })

/** The options of every list that is read page by page. */
export const PAGES = {
  initialPageParam: '',
  getNextPageParam: ({ nextCursor }: { nextCursor: string | null }) => nextCursor,
}

/** The parameter of a list that asks for a page after the first. */
export const cursorOf = (pageParam: string): { cursor?: string } => (pageParam ? { cursor: pageParam } : {})

/** Reads all pages of a list, one after the other. */
export async function readPages<Page extends { nextCursor: string | null }>(
  readPage: (query: { cursor?: string }) => Promise<Page>,
): Promise<Page[]> {
  const pages: Page[] = []
  for (let cursor: string | null = ''; cursor !== null; cursor = pages.at(-1)?.nextCursor ?? null)
    pages.push(await readPage(cursorOf(cursor)))
  return pages
}
