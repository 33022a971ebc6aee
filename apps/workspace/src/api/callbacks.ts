import { type QueryClient, useQuery } from '@tanstack/react-query'
import type { CallbackDestination, TestSendResult } from './contract.ts'
import { asMe } from './session.ts'

const vendorPath = (vendorId: string) => `/v1/vendor/${encodeURIComponent(vendorId)}`
const destinationKey = (vendorId: string) => ['callback', vendorId] as const

export function useDestination(vendorId: string) {
  return useQuery({
    queryKey: destinationKey(vendorId),
    queryFn: ({ signal }) => asMe<CallbackDestination>(`${vendorPath(vendorId)}/callback-url`, { signal }),
  })
}

/** @throws ApiProblem 422, whose sentence says which rule the URL breaks. */
export async function saveDestination(
  queryClient: QueryClient,
  vendorId: string,
  callbackUrl: string,
): Promise<CallbackDestination> {
  const saved = await asMe<CallbackDestination>(`${vendorPath(vendorId)}/callback-url`, {
    method: 'PATCH',
    body: { callbackUrl },
  })
  queryClient.setQueryData(destinationKey(vendorId), saved)
  void queryClient.invalidateQueries({ queryKey: ['activity', vendorId] })
  return saved
}

/** Sends the test event to the saved destination; what is typed but not saved plays no part. */
export const sendTestEvent = (vendorId: string): Promise<TestSendResult> =>
  asMe<TestSendResult>(`${vendorPath(vendorId)}/callback-test`, { method: 'POST' })
