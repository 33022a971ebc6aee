import { useInfiniteQuery } from '@tanstack/react-query'
import { asMe } from '../session/session.ts'
import type { ActivityEntry, ActivityPage } from './contract.ts'

const REFRESH_MS = 30_000

/** The most that the API answers at once. */
const LARGEST_PAGE = 200

async function readPage(
  vendorId: string,
  { limit, cursor, signal }: { limit: number; cursor: string; signal?: AbortSignal },
): Promise<ActivityPage> {
  const query = new URLSearchParams({ limit: String(limit), ...(cursor && { cursor }) })
  return asMe<ActivityPage>(`/v1/vendor/${encodeURIComponent(vendorId)}/activity?${query}`, { signal })
}

/** Everything that ever happened, newest first. */
export async function readAllActivity(vendorId: string): Promise<ActivityEntry[]> {
  const entries: ActivityEntry[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: ActivityPage = await readPage(vendorId, { limit: LARGEST_PAGE, cursor })
    entries.push(...page.entries)
    cursor = page.nextCursor
  }
  return entries
}

export function useActivity(vendorId: string) {
  return useInfiniteQuery({
    queryKey: ['activity', vendorId],
    queryFn: ({ pageParam, signal }) => readPage(vendorId, { limit: 50, cursor: pageParam, signal }),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: REFRESH_MS,
  })
}
