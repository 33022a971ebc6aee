import { useInfiniteQuery, useQueries } from '@tanstack/react-query'
import type {
  ActivityEntry,
  ActivityPage,
  CallbackDestination,
  DailyAnalytics,
  InvitedPerson,
  Person,
  PersonPage,
  Role,
  SessionPage,
  TestSendResult,
} from './contract.ts'
import { companyPath, invalidate, queryClient, usePages, useRead } from './query.ts'
import { authenticatedRequest } from './session.ts'

/* Everything that the screens read and write but clients and the session itself. */

/** Which entries to read. A missing member matches any. */
export interface ActivityQuery {
  /** `operator`: an operator of the service. */
  userId?: string
  action?: string
  clientId?: string
  /** RFC 3339, inclusive. */
  from?: string
  /** RFC 3339, exclusive. */
  to?: string
}

/** While another filter loads, what the one before let through stays. */
export const useActivity = (filter: ActivityQuery) =>
  usePages<ActivityPage>(['activity'], {
    search: { ...filter, limit: '50' },
    refresh_ms: 30_000,
    keepsPrevious: true,
  })

/** All that the filter lets through, newest first, on all pages. */
export async function readAllActivity(vendorId: string, filter: ActivityQuery): Promise<ActivityEntry[]> {
  const entries: ActivityEntry[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const search = { ...filter, limit: '200', cursor }
    const page: ActivityPage = await authenticatedRequest<ActivityPage>(
      companyPath(vendorId, ['activity'], search),
    )
    entries.push(...page.entries)
    cursor = page.nextCursor
  }
  return entries
}

/** @param range undefined: 30 days until today in the company's time zone. null: unknown, no request. */
export const useDailyAnalytics = (range: { from: string; to: string } | undefined | null) =>
  useRead<DailyAnalytics>(['analytics', 'daily'], {
    search: range ?? undefined,
    enabled: range !== null,
    refresh_ms: 60_000,
    // The former range stays on the page, dimmed, until the new one is there.
    keepsPrevious: true,
  })

export const useDestination = () => useRead<CallbackDestination>(['callback-url'])

/** @throws ApiProblem 422, whose sentence says which rule the URL breaks. */
export async function sendCallbackUrl(vendorId: string, callbackUrl: string): Promise<CallbackDestination> {
  const body = { callbackUrl }
  const destination = await authenticatedRequest<CallbackDestination>(
    companyPath(vendorId, ['callback-url']),
    {
      method: 'PATCH',
      body,
    },
  )
  queryClient.setQueryData([vendorId, 'callback-url', undefined], destination)
  void invalidate(vendorId, 'activity')
  return destination
}

/** Sends the test event to the saved destination, not to a URL that is typed but not saved. */
export const sendTestEvent = (vendorId: string): Promise<TestSendResult> =>
  authenticatedRequest<TestSendResult>(companyPath(vendorId, ['callback-test']), { method: 'POST' })

/**
 * Returns the people by role, then those invited, each by name. The list is never stale: someone else may
 * have changed it a moment ago, including this person's role.
 */
export function usePeople() {
  const query = useRead<PersonPage>(['people'], {
    search: { limit: '200' },
    staleTime: 0,
    refresh_ms: 20_000,
  })
  return { ...query, data: query.data?.people }
}

/** The link in the answer is the caller's to show and forget: it must not enter the cache. */
export const invitePerson = (
  vendorId: string,
  person: { name: string; email: string; role: Exclude<Role, 'owner'>; deliver: 'mail' | 'link' },
): Promise<InvitedPerson> => changePeople<InvitedPerson>(vendorId, [], 'POST', person)

export const sendPersonChange = (
  vendorId: string,
  userId: string,
  change: Partial<Pick<Person, 'role' | 'status'>>,
): Promise<Person> => changePeople<Person>(vendorId, [userId], 'PATCH', change)

/** Ends a membership, or an invitation. */
export const sendPersonRemoval = (vendorId: string, userId: string): Promise<void> =>
  changePeople<void>(vendorId, [userId], 'DELETE')

/** Resolves when the people on the screen are up to date. */
async function changePeople<T>(
  vendorId: string,
  path: string[],
  method: 'POST' | 'PATCH' | 'DELETE',
  body?: object,
): Promise<T> {
  const answer = await authenticatedRequest<T>(companyPath(vendorId, ['people', ...path]), { method, body })
  void invalidate(vendorId, 'activity')
  await invalidate(vendorId, 'people')
  return answer
}

/** The live sessions of this person, newest first. Never an old list: one may be there that should not be. */
export const useSessions = () =>
  useInfiniteQuery({
    queryKey: ['sessions'],
    queryFn: ({ pageParam, signal }) =>
      authenticatedRequest<SessionPage>(
        `/v1/sessions${pageParam && `?${new URLSearchParams({ cursor: pageParam })}`}`,
        {
          signal,
        },
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    staleTime: 0,
  })

/** Ends one session of this person. @throws ApiProblem `not_found` when it has ended already, or NoAnswer. */
export const endSession = (sessionId: string): Promise<void> =>
  authenticatedRequest<void>(`/v1/sessions/${encodeURIComponent(sessionId)}`, { method: 'DELETE' })

/**
 * Finds the company that has the refused request.
 * Returns undefined until it is found or all have answered, then null if none has it.
 */
export function useRefusalCompany(
  vendorIds: readonly string[],
  requestId: string | undefined,
): string | null | undefined {
  const queries = useQueries({
    queries: vendorIds.map((vendorId) => ({
      queryKey: [vendorId, 'refusals', requestId, undefined],
      queryFn: () => authenticatedRequest<object>(companyPath(vendorId, ['refusals', requestId ?? ''])),
      enabled: requestId !== undefined,
    })),
  })
  const match = vendorIds.find((_vendorId, index) => queries[index]?.data)
  if (match) return match
  return requestId === undefined || queries.every(({ isError }) => isError) ? null : undefined
}
