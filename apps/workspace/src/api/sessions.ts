import { useInfiniteQuery } from '@tanstack/react-query'
import type { SessionPage } from './contract.ts'
import { asMe } from './session.ts'

/** Ends one session of this person. @throws ApiProblem `not_found` when it has ended already, or NoAnswer. */
export const endSession = (sessionId: string): Promise<void> =>
  asMe<void>(`/v1/sessions/${encodeURIComponent(sessionId)}`, { method: 'DELETE' })

/** The live sessions of this person, newest first. */
export const useSessions = () =>
  useInfiniteQuery({
    queryKey: ['sessions'],
    queryFn: ({ pageParam, signal }) =>
      asMe<SessionPage>(`/v1/sessions${pageParam && `?${new URLSearchParams({ cursor: pageParam })}`}`, {
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    // Someone who looks for a session that should not be there must not see an old list.
    staleTime: 0,
  })
