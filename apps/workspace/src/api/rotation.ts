import { type QueryClient, useQuery } from '@tanstack/react-query'
import type { ClientRotation, ClientRotationChange } from './contract.ts'
import { asMe } from './session.ts'

const REFRESH_MS = 10_000

const rotationPath = (vendorId: string, clientId: string) =>
  `/v1/vendor/${encodeURIComponent(vendorId)}/oauth-clients/${encodeURIComponent(clientId)}/rotation`

export const rotationKey = (vendorId: string, clientId: string) => ['rotation', vendorId, clientId] as const

const NOTHING_KNOWN: ClientRotation = {
  replacementId: null,
  state: 'unknown',
  evidenceSince: null,
  lastUsedAt: null,
  longestGapSeconds: null,
  expectedNextUseAt: null,
  safeFrom: null,
  secretPutAwayAt: null,
  addresses: [],
  refusedSinceRevoke: 0,
  refusedAddresses: [],
  ifRevokedNow: { addresses: 0, tokensAnHour: 0 },
  armed: null,
}

/**
 * Whether a client can be revoked, as the service judges it. `unknown` while the service does not answer: what it said
 * before may no longer be true. Undefined while it loads.
 * @param clientId null: nothing is requested.
 */
export function useRotation(
  vendorId: string,
  clientId: string | null,
  refresh_ms = REFRESH_MS,
): ClientRotation | undefined {
  const { data, isError, fetchStatus } = useQuery({
    queryKey: rotationKey(vendorId, clientId ?? ''),
    enabled: clientId !== null,
    queryFn: ({ signal }) => asMe<ClientRotation>(rotationPath(vendorId, clientId ?? ''), { signal }),
    refetchInterval: refresh_ms,
  })
  if (isError || fetchStatus === 'paused') return { ...NOTHING_KNOWN, armed: data?.armed ?? null }
  return data
}

/** Arms or disarms the revocation of a client, or says that the secret of its replacement is no longer shown. */
export async function changeRotation(
  queryClient: QueryClient,
  vendorId: string,
  { clientId, change }: { clientId: string; change: ClientRotationChange },
): Promise<void> {
  const changed = await asMe<ClientRotation>(rotationPath(vendorId, clientId), {
    method: 'PATCH',
    body: change,
  })
  queryClient.setQueryData(rotationKey(vendorId, clientId), changed)
  void queryClient.invalidateQueries({ queryKey: ['activity', vendorId] })
}
