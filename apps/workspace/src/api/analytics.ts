import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { DailyAnalytics } from './contract.ts'
import { asMe } from './session.ts'

const REFRESH_MS = 60_000

/** @param range undefined: the 30 days that end today, in the company's time zone; null: not yet known, asks nothing. */
export function useDailyAnalytics(
  vendorId: string,
  range: { from: string; to: string } | undefined | null,
  refresh_ms = REFRESH_MS,
) {
  return useQuery({
    queryKey: ['daily', vendorId, range?.from ?? '', range?.to ?? ''],
    queryFn: ({ signal }) =>
      asMe<DailyAnalytics>(
        `/v1/vendor/${encodeURIComponent(vendorId)}/analytics/daily${range ? `?${new URLSearchParams(range)}` : ''}`,
        { signal },
      ),
    enabled: range !== null,
    // The former range stays on the page, dimmed, until the new one is there. Never another company's.
    placeholderData: (previous) => (previous?.vendorId === vendorId ? keepPreviousData(previous) : undefined),
    refetchInterval: refresh_ms,
  })
}
