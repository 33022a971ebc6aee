import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import type { ActivityEntry, ActivityPage } from './contract.ts'
import { asMe } from './session.ts'

const REFRESH_MS = 30_000

/** The most that the API answers at once. */
const LARGEST_PAGE = 200

/** Which entries to read. A missing member matches any. */
export interface ActivityFilter {
  /** `operator`: an operator of the service. */
  userId?: string
  action?: string
  clientId?: string
  /** RFC 3339; from this time on. */
  from?: string
  /** RFC 3339; before this time. */
  to?: string
}

const companyPath = (vendorId: string) => `/v1/vendor/${encodeURIComponent(vendorId)}`

async function readPage(
  vendorId: string,
  filter: ActivityFilter,
  { limit, cursor, signal }: { limit: number; cursor: string; signal?: AbortSignal },
): Promise<ActivityPage> {
  const query = new URLSearchParams({
    ...filter,
    limit: String(limit),
    ...(cursor && { cursor }),
  })
  return asMe<ActivityPage>(`${companyPath(vendorId)}/activity?${query}`, { signal })
}

/** All that the filter lets through, newest first, on all pages. */
export async function readAllActivity(vendorId: string, filter: ActivityFilter): Promise<ActivityEntry[]> {
  const entries: ActivityEntry[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: ActivityPage = await readPage(vendorId, filter, {
      limit: LARGEST_PAGE,
      cursor,
    })
    entries.push(...page.entries)
    cursor = page.nextCursor
  }
  return entries
}

/** While another filter loads, what the one before let through stays. */
export const useActivity = (vendorId: string, filter: ActivityFilter) =>
  useInfiniteQuery({
    queryKey: ['activity', vendorId, filter],
    queryFn: ({ pageParam, signal }) => readPage(vendorId, filter, { limit: 50, cursor: pageParam, signal }),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })
