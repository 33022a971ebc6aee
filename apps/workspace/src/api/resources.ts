import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useInfiniteQuery,
  useQueries,
  useQuery,
} from '@tanstack/react-query'
import { useCompany } from './company.ts'
import type {
  ActivityEntry,
  CallbackDestination,
  InvitedPerson,
  NewPerson,
  Person,
  PersonChange,
  Query,
  TestSendResult,
} from './contract.ts'
import { cursorOf, PAGES, queryClient, read, readPages } from './query.ts'
import { type Answer, ApiProblem, api } from './request.ts'
import { authenticatedRequest } from './session.ts'

/* Everything that the screens read and write but clients and the session itself. */

const ACTIVITY = '/v1/vendor/{vendorId}/activity'
const CALLBACK_URL = '/v1/vendor/{vendorId}/callback-url'
const PEOPLE = '/v1/vendor/{vendorId}/people'
const PERSON = `${PEOPLE}/{userId}` as const

/** Which entries to read. A missing member matches any. */
export type ActivityQuery = Omit<Query<typeof ACTIVITY>, 'limit' | 'cursor'>

const activityKey = (vendorId: string) => [ACTIVITY, vendorId]

const readActivity = (vendorId: string, query: Query<typeof ACTIVITY>, signal?: AbortSignal) =>
  authenticatedRequest(
    api.GET(ACTIVITY, { params: { path: { vendorId }, query }, ...(signal && { signal }) }),
  )

const activityOptions = (vendorId: string, filter: ActivityQuery) =>
  infiniteQueryOptions({
    queryKey: [...activityKey(vendorId), filter],
    queryFn: ({ pageParam, signal }) =>
      readActivity(vendorId, { ...filter, limit: 50, ...cursorOf(pageParam) }, signal),
    ...PAGES,
  })

/** While another filter loads, what the one before let through stays. */
export const useActivity = (filter: ActivityQuery, enabled = true) =>
  useInfiniteQuery({
    ...activityOptions(useCompany().vendorId, filter),
    enabled,
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  })

/** All that the filter lets through, newest first, on all pages. */
export async function readAllActivity(vendorId: string, filter: ActivityQuery): Promise<ActivityEntry[]> {
  const pages = await readPages((cursor) => readActivity(vendorId, { ...filter, limit: 200, ...cursor }))
  return pages.flatMap(({ entries }) => entries)
}

/** After a change, which has a new entry. */
export const invalidateActivity = (vendorId: string): void =>
  void queryClient.invalidateQueries({ queryKey: activityKey(vendorId) })

/** @param range undefined: 30 days until today in the company's time zone. null: unknown, no request. */
export function useDailyAnalytics(range: { from: string; to: string } | undefined | null) {
  const params = { path: { vendorId: useCompany().vendorId }, ...(range && { query: range }) }
  return useQuery({
    ...read('/v1/vendor/{vendorId}/analytics/daily', params),
    enabled: range !== null,
    refetchInterval: 60_000,
    // The former range stays on the page, dimmed, until the new one is there.
    placeholderData: keepPreviousData,
  })
}

const destinationOptions = (vendorId: string) => read(CALLBACK_URL, { path: { vendorId } })

export const useDestination = () => useQuery(destinationOptions(useCompany().vendorId))

/** @throws ApiProblem 422, whose sentence says which rule the URL breaks. */
export async function sendCallbackUrl(vendorId: string, callbackUrl: string): Promise<CallbackDestination> {
  const params = { path: { vendorId } }
  const destination = await authenticatedRequest(api.PATCH(CALLBACK_URL, { params, body: { callbackUrl } }))
  queryClient.setQueryData(destinationOptions(vendorId).queryKey, destination)
  invalidateActivity(vendorId)
  return destination
}

/** Sends the test event to the saved destination, not to a URL that is typed but not saved. */
export async function sendTestEvent(vendorId: string): Promise<TestSendResult> {
  const params = { path: { vendorId } }
  const result = await authenticatedRequest(api.POST('/v1/vendor/{vendorId}/callback-test', { params }))
  const { queryKey } = destinationOptions(vendorId)
  // Someone else has saved another, which was tested.
  if (result.url !== queryClient.getQueryData(queryKey)?.callbackUrl)
    await queryClient.invalidateQueries({ queryKey })
  return result
}

const peopleOptions = (vendorId: string) =>
  queryOptions({
    queryKey: [PEOPLE, vendorId],
    async queryFn({ signal }) {
      const pages = await readPages((cursor) => {
        const params = { path: { vendorId }, query: { limit: 200, ...cursor } }
        return authenticatedRequest(api.GET(PEOPLE, { params, signal }))
      })
      return pages.flatMap(({ people }) => people)
    },
  })

/**
 * Returns the people by role, then those invited, each by name. The list is never stale: someone else may
 * have changed it a moment ago, including this person's role.
 */
export const usePeople = () =>
  useQuery({
    ...peopleOptions(useCompany().vendorId),
    staleTime: 0,
    // A mail takes a second or two.
    refetchInterval: ({ state: { data } }) => (data?.some(({ mail }) => mail === 'waiting') ? 2_000 : 20_000),
  })

/** The link in the answer is the caller's to show and forget: it must not enter the cache. */
export async function invitePerson(vendorId: string, person: NewPerson): Promise<InvitedPerson> {
  const answer = api.POST(PEOPLE, { params: { path: { vendorId } }, body: person })
  const invited = await authenticatedRequest(answer)
  // The link is shown only once, so it does not wait for the list.
  void reloadPeople(vendorId)
  return invited
}

export const sendPersonChange = (vendorId: string, userId: string, change: PersonChange): Promise<Person> =>
  changePeople(vendorId, api.PATCH(PERSON, { params: { path: { vendorId, userId } }, body: change }))

/** Ends a membership, or an invitation. */
export const sendPersonRemoval = (vendorId: string, userId: string): Promise<void> =>
  changePeople(vendorId, api.DELETE(PERSON, { params: { path: { vendorId, userId } } }))

/** Resolves when the people on the screen are up to date. */
async function changePeople<T>(vendorId: string, answer: Answer<T>): Promise<T> {
  const data = await authenticatedRequest(answer)
  await reloadPeople(vendorId)
  return data
}

function reloadPeople(vendorId: string): Promise<void> {
  invalidateActivity(vendorId)
  return queryClient.invalidateQueries(peopleOptions(vendorId))
}

const SESSIONS = '/v1/sessions'

const sessionsOptions = infiniteQueryOptions({
  queryKey: [SESSIONS],
  queryFn: ({ pageParam, signal }) =>
    authenticatedRequest(api.GET(SESSIONS, { params: { query: cursorOf(pageParam) }, signal })),
  ...PAGES,
})

/** The live sessions of this person, newest first. Never an old list: one may be there that should not be. */
export const useSessions = () => useInfiniteQuery({ ...sessionsOptions, staleTime: 0 })

/** Ends one session of this person. @throws ApiProblem `not_found` when it has ended already, or NoAnswer. */
export const endSession = (sessionId: string): Promise<void> =>
  authenticatedRequest(api.DELETE(`${SESSIONS}/{sessionId}`, { params: { path: { sessionId } } }))

export const invalidateSessions = (): Promise<void> => queryClient.invalidateQueries(sessionsOptions)

const refusalOptions = (vendorId: string, requestId: string) =>
  read('/v1/vendor/{vendorId}/refusals/{requestId}', { path: { vendorId, requestId } })

/** A request of one of the company's clients, and why it was refused, if it was. */
export const useExplainedRequest = (requestId: string) =>
  useQuery({
    ...refusalOptions(useCompany().vendorId, requestId),
    staleTime: Number.POSITIVE_INFINITY,
  })

export const lookUpAgain = (vendorId: string, requestId: string): Promise<void> =>
  queryClient.invalidateQueries(refusalOptions(vendorId, requestId))

/**
 * Finds the company that has the refused request, or else one that could not be asked.
 * Returns undefined until it is found or all have answered, then null if none can have it.
 */
export function useRefusalCompany(
  vendorIds: readonly string[],
  requestId: string | undefined,
): string | null | undefined {
  const queries = useQueries({
    queries: vendorIds.map((vendorId) => ({
      ...refusalOptions(vendorId, requestId ?? ''),
      enabled: requestId !== undefined,
    })),
  })
  const match = vendorIds.find((_vendorId, index) => queries[index]?.data)
  if (match || requestId === undefined) return match ?? null
  if (!queries.every(({ isError }) => isError)) return undefined
  const isMissing = (error: unknown) => error instanceof ApiProblem && error.status === 404
  return vendorIds.find((_vendorId, index) => !isMissing(queries[index]?.error)) ?? null
}
