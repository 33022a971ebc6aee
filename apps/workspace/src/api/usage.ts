import { useQuery } from '@tanstack/react-query'
import type { ClientUsage, RefusalPage } from './contract.ts'
import { asMe } from './session.ts'

const REFRESH_MS = 30_000
export const REFUSALS_SHOWN = 20

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

/** The newest of a client's refused requests of the last 24 hours. */
export const useRefusals = (vendorId: string, clientId: string, refresh_ms = REFRESH_MS) =>
  useQuery({
    queryKey: ['refusals', vendorId, clientId],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ clientId, limit: String(REFUSALS_SHOWN) })
      return asMe<RefusalPage>(`${companyPath(vendorId)}/refusals?${query}`, { signal })
    },
    refetchInterval: refresh_ms,
  })
