import {
  type InfiniteData,
  infiniteQueryOptions,
  queryOptions,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { useCompany } from './company.ts'
import type { CreatedClient, NewClient, OAuthClient, Query, WorkloadIssuerKeys } from './contract.ts'
import { cursorOf, PAGES, queryClient, read } from './query.ts'
import { api } from './request.ts'
import { invalidateActivity } from './resources.ts'
import { authenticatedRequest } from './session.ts'

const CLIENTS = '/v1/vendor/{vendorId}/oauth-clients'
const CLIENT = `${CLIENTS}/{clientId}` as const
const ISSUERS = '/v1/vendor/{vendorId}/workload-issuers'

/** The largest page of the API. A company may have fewer Active clients than that. */
const PAGE = 200

const listOptions = (vendorId: string, query: Query<typeof CLIENTS>) =>
  infiniteQueryOptions({
    queryKey: [CLIENTS, vendorId, query],
    queryFn: ({ pageParam, signal }) => {
      const params = { path: { vendorId }, query: { ...query, ...cursorOf(pageParam) } }
      return authenticatedRequest(api.GET(CLIENTS, { params, signal }))
    },
    ...PAGES,
  })

const activeClients = (vendorId: string) => listOptions(vendorId, { status: 'Active', limit: PAGE })
const revokedClients = (vendorId: string) => listOptions(vendorId, { status: 'Revoked', limit: PAGE })
/** One request counts up to 50 entries once. */
const foundClients = (vendorId: string) =>
  listOptions(vendorId, { status: 'Active', secretFound: 'true', limit: 50 })

const LISTS = [activeClients, revokedClients, foundClients]

const clientOptions = (vendorId: string, clientId: string) =>
  queryOptions({
    queryKey: [CLIENT, vendorId, clientId],
    async queryFn({ signal }) {
      const params = { path: { vendorId, clientId } }
      const client = await authenticatedRequest(api.GET(CLIENT, { params, signal }))
      showInLists(vendorId, client)
      return client
    },
  })

const rotationOptions = (vendorId: string, clientId: string) =>
  read(`${CLIENT}/rotation`, { path: { vendorId, clientId } })

const issuersOptions = (vendorId: string) => read(ISSUERS, { path: { vendorId } })

/** Every Active client, newest first. */
export function useActiveClients() {
  const { vendorId, mayView } = useCompany()
  return useInfiniteQuery({ ...activeClients(vendorId), enabled: mayView, refetchInterval: 20_000 })
}

/** The newest Active clients whose secret was reported as found, and whether there are more. */
export function useFoundClients() {
  const { vendorId, mayView } = useCompany()
  const options = { ...foundClients(vendorId), enabled: mayView, refetchInterval: 30_000 }
  // One that was revoked on this page stays in the list until it is read again.
  const { data, hasNextPage } = useInfiniteQuery(options)
  return { clients: clientsIn(data).filter(({ status }) => status === 'Active'), hasMore: hasNextPage }
}

/**
 * Returns every client, newest first in each status, so that any of them can be found. Older pages of revoked
 * clients load in the background, and `complete` says whether all of them have loaded.
 */
export function useAllClients() {
  const { vendorId, mayView } = useCompany()
  const active = useActiveClients()
  const revoked = useInfiniteQuery({
    ...revokedClients(vendorId),
    enabled: mayView,
    refetchInterval: 60_000,
  })
  const { hasNextPage, isFetching, isError, fetchNextPage } = revoked
  useEffect(() => {
    if (hasNextPage && !isFetching && !isError) void fetchNextPage()
  }, [hasNextPage, isFetching, isError, fetchNextPage])
  const data = useMemo(() => {
    if (!active.data || !revoked.data) return undefined
    const loaded = [...clientsIn(active.data), ...clientsIn(revoked.data)]
    // Between two refreshes, one that was just revoked is in both.
    return [...new Map(loaded.map((client) => [client.clientId, client])).values()]
  }, [active.data, revoked.data])
  return {
    data,
    complete: revoked.data !== undefined && !hasNextPage,
    error: active.error ?? revoked.error,
    isFetching: active.isFetching || revoked.isFetching,
    fetchStatus: !data && active.data ? revoked.fetchStatus : active.fetchStatus,
    refetch: () => Promise.all([active.refetch(), revoked.refetch()]),
  }
}

const clientsIn = (data: InfiniteData<{ clients: OAuthClient[] }> | undefined): OAuthClient[] =>
  data?.pages.flatMap(({ clients }) => clients) ?? []

/** @param clientId null: nothing is requested. */
export function useClient(clientId: string | null, refetchInterval = 10_000) {
  const { vendorId } = useCompany()
  return useQuery({
    ...clientOptions(vendorId, clientId ?? ''),
    placeholderData: () =>
      LISTS.flatMap((list) => clientsIn(queryClient.getQueryData(list(vendorId).queryKey))).find(
        (client) => client.clientId === clientId,
      ),
    enabled: clientId !== null,
    refetchInterval,
  })
}

/** What a client did: 14 days by hour. @param clientId null: nothing is requested. */
export function useUsage(clientId: string | null, refetchInterval = 30_000) {
  const path = { vendorId: useCompany().vendorId, clientId: clientId ?? '' }
  return useQuery({ ...read(`${CLIENT}/usage`, { path }), enabled: clientId !== null, refetchInterval })
}

/** A client's latest requests, newest first. */
export function useRequests(clientId: string, refetchInterval = 30_000) {
  const path = { vendorId: useCompany().vendorId, clientId }
  return useQuery({ ...read(`${CLIENT}/requests`, { path }), refetchInterval })
}

/** What was seen of a client and its replacement. */
export const useRotation = (clientId: string, refetchInterval = 10_000) =>
  useQuery({ ...rotationOptions(useCompany().vendorId, clientId), refetchInterval })

/** The issuers that the company's Active clients trust, and how old their keys are. Not for viewers. */
export function useIssuers() {
  const { vendorId, mayManage } = useCompany()
  return useQuery({ ...issuersOptions(vendorId), enabled: mayManage, refetchInterval: 30_000 })
}

/** Replaces keys that were pasted. */
export async function replaceIssuerKeys(vendorId: string, body: WorkloadIssuerKeys): Promise<void> {
  await authenticatedRequest(api.PUT(ISSUERS, { params: { path: { vendorId } }, body }))
  invalidateActivity(vendorId)
  await queryClient.invalidateQueries(issuersOptions(vendorId))
}

/**
 * The secret in the answer is the caller's to show and forget: it must not enter the cache.
 * @param idempotencyKey makes it safe to send the same creation again. A repeat is answered without the
 * secret.
 */
export async function sendNewClient(
  vendorId: string,
  body: NewClient,
  idempotencyKey: string,
): Promise<CreatedClient> {
  const params = { path: { vendorId }, header: { 'Idempotency-Key': idempotencyKey } }
  const creation = await authenticatedRequest(api.POST(CLIENTS, { params, body }))
  const { clientSecret: _, ...client } = creation
  clientChanged(vendorId, client)
  return creation
}

export async function sendClientName(vendorId: string, clientId: string, name: string): Promise<void> {
  const params = { path: { vendorId, clientId } }
  clientChanged(vendorId, await authenticatedRequest(api.PATCH(CLIENT, { params, body: { name } })))
}

export async function sendRevocation(vendorId: string, clientId: string): Promise<void> {
  const params = { path: { vendorId, clientId } }
  clientChanged(vendorId, await authenticatedRequest(api.POST(`${CLIENT}/revoke`, { params })))
}

/**
 * Keeps the lists from contradicting what another screen has just learned about a client. A list that was to
 * be read again still is, since it may lack another client.
 */
function showInLists(vendorId: string, client: OAuthClient): void {
  for (const list of LISTS) {
    const { queryKey } = list(vendorId)
    const state = queryClient.getQueryState(queryKey)
    if (!state?.data) continue
    const pages = state.data.pages.map((page) => ({
      ...page,
      clients: page.clients.map((item) => (item.clientId === client.clientId ? client : item)),
    }))
    queryClient.setQueryData(queryKey, { ...state.data, pages }, { updatedAt: state.dataUpdatedAt })
    if (state.isInvalidated) void queryClient.invalidateQueries({ queryKey, refetchType: 'none' })
  }
}

/** Shows the client's new state everywhere at once, then reloads the lists and the activity. */
export function clientChanged(vendorId: string, client: OAuthClient & { clientSecret?: never }): void {
  queryClient.setQueryData(clientOptions(vendorId, client.clientId).queryKey, client)
  showInLists(vendorId, client)
  // What was seen before the change must not be shown after it, nor what is being read now.
  void queryClient.resetQueries(rotationOptions(vendorId, client.clientId))
  void queryClient.invalidateQueries(clientOptions(vendorId, client.clientId))
  for (const list of LISTS) void queryClient.invalidateQueries(list(vendorId))
  invalidateActivity(vendorId)
}
