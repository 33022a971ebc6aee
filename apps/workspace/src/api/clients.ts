import {
  type InfiniteData,
  type QueryClient,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import type { ClientPage, CreatedClient, NewClient, OAuthClient } from './contract.ts'
import { rotationKey } from './rotation.ts'
import { asMe } from './session.ts'

const LIST_REFRESH_MS = 20_000
const CLIENT_REFRESH_MS = 10_000
const FOUND_REFRESH_MS = 30_000
/** One request counts up to so many entries once. */
const FOUND_MAX = 50

/** The most that the API answers at once; it allows fewer Active clients than that. */
const PAGE = 200

const clientsPath = (vendorId: string) => `/v1/vendor/${encodeURIComponent(vendorId)}/oauth-clients`
const clientPath = (vendorId: string, clientId: string) =>
  `${clientsPath(vendorId)}/${encodeURIComponent(clientId)}`

const listKey = (vendorId: string) => ['clients', vendorId] as const
const clientKey = (vendorId: string, clientId: string) => ['client', vendorId, clientId] as const

function useClientPages(
  vendorId: string,
  wanted: { status: OAuthClient['status']; secretFound?: 'true' },
  { limit = PAGE, refresh_ms, enabled }: { limit?: number; refresh_ms: number | false; enabled: boolean },
) {
  return useInfiniteQuery({
    queryKey: [...listKey(vendorId), wanted],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        limit: String(limit),
        ...wanted,
        ...(pageParam && { cursor: pageParam }),
      })
      return asMe<ClientPage>(`${clientsPath(vendorId)}?${query}`, { signal })
    },
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: refresh_ms,
    enabled,
  })
}

/** Every Active client, newest first. */
export const useActiveClients = (vendorId: string, enabled = true) =>
  useClientPages(vendorId, { status: 'Active' }, { refresh_ms: LIST_REFRESH_MS, enabled })

/** The newest Active clients whose secret was reported as found. */
export function useFoundClients(vendorId: string, enabled: boolean): OAuthClient[] {
  const { data } = useClientPages(
    vendorId,
    { status: 'Active', secretFound: 'true' },
    { limit: FOUND_MAX, refresh_ms: FOUND_REFRESH_MS, enabled },
  )
  // One that was revoked on this page stays in the list until it is read again.
  return data?.pages.flatMap(({ clients }) => clients).filter(({ status }) => status === 'Active') ?? []
}

/**
 * Every client, newest first in each status, so that any of them can be found. Revoked clients never change, so their
 * older pages load once, in the background; `complete` says whether all of them are loaded.
 * @param enabled false when this person may not see clients: nothing is requested.
 */
export function useAllClients(vendorId: string, enabled = true) {
  const active = useActiveClients(vendorId, enabled)
  const revoked = useClientPages(vendorId, { status: 'Revoked' }, { refresh_ms: false, enabled })
  const { hasNextPage, isFetching, isError, fetchNextPage } = revoked
  useEffect(() => {
    if (hasNextPage && !isFetching && !isError) void fetchNextPage()
  }, [hasNextPage, isFetching, isError, fetchNextPage])
  const data = useMemo(() => {
    if (!active.data || !revoked.data) return undefined
    const known = [...active.data.pages, ...revoked.data.pages].flatMap(({ clients }) => clients)
    // Between two refreshes, one that was just revoked is in both.
    return [...new Map(known.map((client) => [client.clientId, client])).values()]
  }, [active.data, revoked.data])
  const failed = active.error ? active : revoked.error ? revoked : active
  return {
    data,
    complete: revoked.data !== undefined && !hasNextPage,
    error: failed.error,
    isFetching: active.isFetching || revoked.isFetching,
    fetchStatus: data ? active.fetchStatus : active.data ? revoked.fetchStatus : active.fetchStatus,
    refetch: () => Promise.all([active.refetch(), revoked.refetch()]),
  }
}

/** @param clientId null: nothing is requested. */
export function useClient(vendorId: string, clientId: string | null, refresh_ms = CLIENT_REFRESH_MS) {
  const queryClient = useQueryClient()
  return useQuery({
    queryKey: clientKey(vendorId, clientId ?? ''),
    enabled: clientId !== null,
    queryFn: async ({ signal }) => {
      const client = await asMe<OAuthClient>(clientPath(vendorId, clientId ?? ''), { signal })
      showInLists(queryClient, vendorId, client)
      return client
    },
    placeholderData: () => (clientId === null ? undefined : knownFromList(queryClient, vendorId, clientId)),
    refetchInterval: refresh_ms,
  })
}

function knownFromList(
  queryClient: QueryClient,
  vendorId: string,
  clientId: string,
): OAuthClient | undefined {
  return queryClient
    .getQueriesData<InfiniteData<ClientPage>>({ queryKey: listKey(vendorId) })
    .flatMap(([, data]) => data?.pages.flatMap((page) => page.clients) ?? [])
    .find((client) => client.clientId === clientId)
}

/**
 * The secret in the answer is the caller's to show and forget: it must not enter a cache, which is why this is no
 * mutation of the query library.
 * @param idempotencyKey makes it safe to send the same creation again; a repeat is answered without the secret.
 */
export const createClient = (
  vendorId: string,
  client: NewClient,
  idempotencyKey: string,
): Promise<CreatedClient> =>
  asMe<CreatedClient>(clientsPath(vendorId), {
    method: 'POST',
    body: client,
    headers: { 'Idempotency-Key': idempotencyKey },
  })

export const renameClient = (vendorId: string, clientId: string, name: string): Promise<OAuthClient> =>
  asMe<OAuthClient>(clientPath(vendorId, clientId), { method: 'PATCH', body: { name } })

export const revokeClient = (vendorId: string, clientId: string): Promise<OAuthClient> =>
  asMe<OAuthClient>(`${clientPath(vendorId, clientId)}/revoke`, { method: 'POST' })

/** Keeps the lists from contradicting what another screen has just learned about a client. */
function showInLists(queryClient: QueryClient, vendorId: string, client: OAuthClient): void {
  queryClient.setQueriesData<InfiniteData<ClientPage>>({ queryKey: listKey(vendorId) }, (data) =>
    data
      ? {
          ...data,
          pages: data.pages.map((page) => ({
            ...page,
            clients: page.clients.map((known) => (known.clientId === client.clientId ? client : known)),
          })),
        }
      : data,
  )
}

/**
 * Shows the client's new state everywhere at once, then reloads the lists and the activity.
 * @param client never as it was created: its secret must not enter the cache.
 */
export function clientChanged(
  queryClient: QueryClient,
  vendorId: string,
  client: OAuthClient & { clientSecret?: never },
): void {
  queryClient.setQueryData(clientKey(vendorId, client.clientId), client)
  showInLists(queryClient, vendorId, client)
  // What was judged before the change must not be shown after it.
  void queryClient.resetQueries({ queryKey: rotationKey(vendorId, client.clientId) })
  void queryClient.invalidateQueries({ queryKey: listKey(vendorId) })
  void queryClient.invalidateQueries({ queryKey: ['activity', vendorId] })
}
