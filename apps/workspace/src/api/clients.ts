import type { InfiniteData } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { useCompany } from './company.ts'
import type {
  ClientPage,
  ClientRequests,
  ClientRotation,
  ClientUsage,
  CreatedClient,
  ExplainedRequest,
  NewClient,
  OAuthClient,
  WorkloadIssuer,
  WorkloadIssuerKeys,
} from './contract.ts'
import { companyPath, invalidate, queryClient, usePages, useRead } from './query.ts'
import { authenticatedRequest } from './session.ts'

/** The largest page of the API. A company may have fewer Active clients than that. */
const PAGE = '200'

const CLIENTS = 'oauth-clients'

/** Every Active client, newest first. */
export const useActiveClients = () =>
  usePages<ClientPage>([CLIENTS], { search: { status: 'Active', limit: PAGE }, refresh_ms: 20_000 })

/** The newest Active clients whose secret was reported as found. One request counts up to 50 entries once. */
export function useFoundClients(): OAuthClient[] {
  const search = { status: 'Active', secretFound: 'true', limit: '50' }
  const { data } = usePages<ClientPage>([CLIENTS], { search, refresh_ms: 30_000 })
  // One that was revoked on this page stays in the list until it is read again.
  return clientsIn(data).filter(({ status }) => status === 'Active')
}

/**
 * Returns every client, newest first in each status, so that any of them can be found. Older pages of revoked
 * clients load in the background, and `complete` says whether all of them have loaded.
 */
export function useAllClients() {
  const active = useActiveClients()
  const revoked = usePages<ClientPage>([CLIENTS], {
    search: { status: 'Revoked', limit: PAGE },
    refresh_ms: 60_000,
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

const clientsIn = (data: InfiniteData<ClientPage> | undefined): OAuthClient[] =>
  data?.pages.flatMap(({ clients }) => clients) ?? []

/** @param clientId null: nothing is requested. */
export function useClient(clientId: string | null, refresh_ms = 10_000) {
  const { vendorId } = useCompany()
  return useRead<OAuthClient>([CLIENTS, clientId ?? ''], {
    enabled: clientId !== null,
    placeholder: () =>
      findLists(vendorId)
        .flatMap(([, list]) => clientsIn(list))
        .find((client) => client.clientId === clientId),
    onRead: (client) => showInLists(vendorId, client),
    refresh_ms,
  })
}

/** What a client did: 14 days by hour. @param clientId null: nothing is requested. */
export const useUsage = (clientId: string | null, refresh_ms = 30_000) =>
  useRead<ClientUsage>([CLIENTS, clientId ?? '', 'usage'], { enabled: clientId !== null, refresh_ms })

/** A client's latest requests, newest first. */
export const useRequests = (clientId: string, refresh_ms = 30_000) =>
  useRead<ClientRequests>([CLIENTS, clientId, 'requests'], { refresh_ms })

/** A request of one of the company's clients, and why it was refused, if it was. */
export const useExplainedRequest = (requestId: string) =>
  useRead<ExplainedRequest>(['refusals', requestId], { staleTime: Number.POSITIVE_INFINITY })

/** The issuers that the company's Active clients trust, and how old their keys are. Not for viewers. */
export const useIssuers = () =>
  useRead<{ issuers: WorkloadIssuer[] }>(['workload-issuers'], {
    enabled: useCompany().mayManage,
    refresh_ms: 30_000,
  })

/** Replaces keys that were pasted. */
export async function replaceIssuerKeys(vendorId: string, body: WorkloadIssuerKeys): Promise<void> {
  await authenticatedRequest<WorkloadIssuer>(companyPath(vendorId, ['workload-issuers']), {
    method: 'PUT',
    body,
  })
  void invalidate(vendorId, 'activity')
  await invalidate(vendorId, 'workload-issuers')
}

/** What was seen of a client and its replacement. */
export const useRotation = (clientId: string, refresh_ms = 10_000) =>
  useRead<ClientRotation>([CLIENTS, clientId, 'rotation'], { refresh_ms })

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
  const headers = { 'Idempotency-Key': idempotencyKey }
  const creation = await authenticatedRequest<CreatedClient>(companyPath(vendorId, [CLIENTS]), {
    method: 'POST',
    body,
    headers,
  })
  const { clientSecret: _, ...client } = creation
  clientChanged(vendorId, client)
  return creation
}

export const sendClientName = async (vendorId: string, clientId: string, name: string): Promise<void> =>
  clientChanged(
    vendorId,
    await authenticatedRequest<OAuthClient>(companyPath(vendorId, [CLIENTS, clientId]), {
      method: 'PATCH',
      body: { name },
    }),
  )

export const sendRevocation = async (vendorId: string, clientId: string): Promise<void> =>
  clientChanged(
    vendorId,
    await authenticatedRequest<OAuthClient>(companyPath(vendorId, [CLIENTS, clientId, 'revoke']), {
      method: 'POST',
    }),
  )

const isList = ({ queryKey }: { queryKey: readonly unknown[] }) =>
  queryKey[1] === CLIENTS && queryKey.length === 3

const findLists = (vendorId: string) =>
  queryClient.getQueriesData<InfiniteData<ClientPage>>({ queryKey: [vendorId, CLIENTS], predicate: isList })

/** Keeps the lists from contradicting what another screen has just learned about a client. */
function showInLists(vendorId: string, client: OAuthClient): void {
  for (const [key, list] of findLists(vendorId)) {
    const pages = list?.pages.map((page) => ({
      ...page,
      clients: page.clients.map((item) => (item.clientId === client.clientId ? client : item)),
    }))
    if (pages) queryClient.setQueryData(key, { ...list, pages })
  }
}

/** Shows the client's new state everywhere at once, then reloads the lists and the activity. */
export function clientChanged(vendorId: string, client: OAuthClient & { clientSecret?: never }): void {
  queryClient.setQueryData([vendorId, CLIENTS, client.clientId, undefined], client)
  showInLists(vendorId, client)
  // What was seen before the change must not be shown after it.
  void queryClient.resetQueries({ queryKey: [vendorId, CLIENTS, client.clientId, 'rotation'] })
  void queryClient.invalidateQueries({ queryKey: [vendorId, CLIENTS], predicate: isList })
  void invalidate(vendorId, 'activity')
}
