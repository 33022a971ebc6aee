import { useQuery } from '@tanstack/react-query'
import type { ClientRequests, ClientUsage, RefusalPage } from './contract.ts'
import { asMe } from './session.ts'

const REFRESH_MS = 30_000
/** As many as the service keeps of those that certainly came from the client, and the most that it answers at once. */
export const REFUSALS_READ = 200

const companyPath = (vendorId: string) => `/v1/vendor/${encodeURIComponent(vendorId)}`

/** What a client did: 14 days by hour, the last hour by minute. */
export const useUsage = (vendorId: string, clientId: string, refresh_ms = REFRESH_MS) =>
  useQuery({
    queryKey: ['usage', vendorId, clientId],
    queryFn: ({ signal }) =>
      asMe<ClientUsage>(`${companyPath(vendorId)}/oauth-clients/${encodeURIComponent(clientId)}/usage`, {
        signal,
      }),
    refetchInterval: refresh_ms,
  })

/** A client's latest requests, newest first. */
export const useRequests = (vendorId: string, clientId: string, refresh_ms = REFRESH_MS) =>
  useQuery({
    queryKey: ['requests', vendorId, clientId],
    queryFn: ({ signal }) =>
      asMe<ClientRequests>(
        `${companyPath(vendorId)}/oauth-clients/${encodeURIComponent(clientId)}/requests`,
        {
          signal,
        },
      ),
    refetchInterval: refresh_ms,
  })

/** The newest of a client's refused requests of the last 24 hours. */
export const useRefusals = (vendorId: string, clientId: string, refresh_ms = REFRESH_MS) =>
  useQuery({
    queryKey: ['refusals', vendorId, clientId],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ clientId, limit: String(REFUSALS_READ) })
      return asMe<RefusalPage>(`${companyPath(vendorId)}/refusals?${query}`, { signal })
    },
    refetchInterval: refresh_ms,
  })
