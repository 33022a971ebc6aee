import { useInfiniteQuery } from '@tanstack/react-query'
import type { SessionPage } from './contract.ts'
import { asMe } from './session.ts'

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
