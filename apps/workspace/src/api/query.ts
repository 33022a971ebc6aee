import {
  type InfiniteData,
  keepPreviousData,
  QueryClient,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query'
import { useCompany } from './company.ts'
import { ApiProblem } from './request.ts'
import { authenticatedRequest, subscribe } from './session.ts'

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
    },
  },
})

// Data of one session is gone before the next.
subscribe((session) => {
  if (session.state === 'signed-out') queryClient.clear()
})

type Search = Record<string, string>

/** The path of a company's resource. What is in `search` and empty is left out. */
export function companyPath(vendorId: string, path: readonly string[], search: Search = {}): string {
  const query = new URLSearchParams(Object.entries(search).filter(([, value]) => value !== ''))
  const at = ['', 'v1', 'vendor', ...[vendorId, ...path].map(encodeURIComponent)].join('/')
  return query.size > 0 ? `${at}?${query}` : at
}

interface ReadOptions<T> {
  search?: Search | undefined
  refresh_ms?: number | false
  /** Default: whether this person may see the company's data. */
  enabled?: boolean
  staleTime?: number
  /** Shown until the answer is there. */
  placeholder?: () => T | undefined
  /** What was read for another search is shown until the answer is there. */
  keepsPrevious?: boolean
  /** Called with each answer. */
  onRead?: (answer: T) => void
}

/** Reads a resource of the company, again and again. The company, the path and the search are its key. */
export function useRead<T>(path: readonly string[], options: ReadOptions<T> = {}) {
  const { vendorId, mayView } = useCompany()
  const {
    search,
    refresh_ms = false,
    enabled = mayView,
    placeholder,
    keepsPrevious,
    onRead,
    ...rest
  } = options
  return useQuery<T, Error, T, unknown[]>({
    queryKey: [vendorId, ...path, search],
    queryFn: async ({ signal }) => {
      const answer = await authenticatedRequest<T>(companyPath(vendorId, path, search), { signal })
      onRead?.(answer)
      return answer
    },
    placeholderData: (keepsPrevious ? keepPreviousData : placeholder) as never,
    refetchInterval: ({ state: { error } }) =>
      refresh_ms || (error !== null && isTransient(error) && RETRY_MS),
    enabled,
    ...rest,
  })
}

/** Reads a list of the company page by page. */
export function usePages<T extends { nextCursor: string | null }>(
  path: readonly string[],
  {
    search,
    refresh_ms = false,
    keepsPrevious,
  }: Pick<ReadOptions<T>, 'search' | 'refresh_ms' | 'keepsPrevious'> = {},
) {
  const { vendorId, mayView } = useCompany()
  return useInfiniteQuery<T, Error, InfiniteData<T, string>, unknown[], string>({
    queryKey: [vendorId, ...path, search],
    queryFn: ({ pageParam, signal }) =>
      authenticatedRequest<T>(companyPath(vendorId, path, { ...search, cursor: pageParam }), { signal }),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    ...(keepsPrevious && { placeholderData: keepPreviousData }),
    refetchInterval: refresh_ms,
    enabled: mayView,
  })
}

/** Has what is cached under the path read again, where it is shown. Resolves when that is done. */
export const invalidate = (vendorId: string, ...path: string[]): Promise<void> =>
  queryClient.invalidateQueries({ queryKey: [vendorId, ...path] })
