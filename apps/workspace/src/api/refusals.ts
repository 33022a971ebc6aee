import { useQueries, useQuery } from '@tanstack/react-query'
import type { Refusal, RefusalPage } from './contract.ts'
import { asMe } from './session.ts'

export const COMPANY_REFUSALS_SHOWN = 20
const REFRESH_MS = 30_000

const refusalsPath = (vendorId: string) => `/v1/vendor/${encodeURIComponent(vendorId)}/refusals`

const refusal = (vendorId: string, requestId: string) => ({
  queryKey: ['refusal', vendorId, requestId],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    asMe<Refusal>(`${refusalsPath(vendorId)}/${encodeURIComponent(requestId)}`, { signal }),
  // A refusal never changes.
  staleTime: Number.POSITIVE_INFINITY,
})

/** Why a request of one of the company's clients was refused. */
export const useRefusal = (vendorId: string, requestId: string) => useQuery(refusal(vendorId, requestId))

/**
 * Finds the company that has the refused request.
 * Returns undefined until it is found or all have answered, then null if none has it.
 */
export function useCompanyOfRefusal(
  vendorIds: readonly string[],
  requestId: string | undefined,
): string | null | undefined {
  const queries = useQueries({
    queries: vendorIds.map((vendorId) => ({
      ...refusal(vendorId, requestId ?? ''),
      enabled: requestId !== undefined,
    })),
  })
  const found = vendorIds.find((_vendorId, index) => queries[index]?.data)
  if (found) return found
  return requestId === undefined || queries.every(({ isError }) => isError) ? null : undefined
}

/** The newest refused requests of all clients of the company in the last 24 hours. */
export const useCompanyRefusals = (vendorId: string) =>
  useQuery({
    queryKey: ['refusals', vendorId],
    queryFn: ({ signal }) =>
      asMe<RefusalPage>(`${refusalsPath(vendorId)}?limit=${COMPANY_REFUSALS_SHOWN}`, { signal }),
    refetchInterval: REFRESH_MS,
  })
