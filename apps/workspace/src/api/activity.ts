import { useInfiniteQuery } from '@tanstack/react-query'
import { asMe } from '../session/session.ts'
import type { ActivityPage } from './contract.ts'

const REFRESH_MS = 30_000

export function useActivity(vendorId: string) {
  return useInfiniteQuery({
    queryKey: ['activity', vendorId],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({ limit: '50', ...(pageParam && { cursor: pageParam }) })
      return asMe<ActivityPage>(`/v1/vendor/${encodeURIComponent(vendorId)}/activity?${query}`, { signal })
    },
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: REFRESH_MS,
  })
}
