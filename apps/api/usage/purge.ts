import { ADDRESS_DAYS_KEPT } from '#shared/rules/clients.ts'
import { type Purge, purgeByTime } from '../stores/purge.ts'
import { DAY_MS, HOUR_MS, HOURS_SHOWN, MINUTE_MS, MINUTES_SHOWN } from './windows.ts'

/** What vanished processes leave, but for the last: readUsesMissingBefore needs its time. */
const FORGOTTEN_WRITERS = `from usage_writers where missed_at < (
  select max(missed_at) from usage_writers where missed_at < clock_timestamp() - interval '1 day')`

/** Kept for longer than it is shown, because counts can be stored late. */
export const USAGE_PURGES: readonly Purge[] = [
  purgeByTime({
    table: 'client_usage_hourly',
    key: 'ctid',
    time: 'hour',
    kept_ms: HOURS_SHOWN * HOUR_MS + DAY_MS,
  }),
  purgeByTime({
    table: 'client_usage_by_minute',
    key: 'ctid',
    time: 'minute',
    kept_ms: 2 * MINUTES_SHOWN * MINUTE_MS,
  }),
  // Whoever revokes a client wants to know which machines used it.
  purgeByTime({
    table: 'client_address_usage',
    key: 'ctid',
    time: 'day',
    kept_ms: (ADDRESS_DAYS_KEPT + 1) * DAY_MS,
  }),
  {
    kind: 'usage_writers',
    oldest: `select min(missed_at) ${FORGOTTEN_WRITERS}`,
    kept_ms: DAY_MS,
    deleteRows: (transaction, { limit }) =>
      transaction.raw(
        `delete from usage_writers where writer in (select writer ${FORGOTTEN_WRITERS} limit ?)`,
        [limit],
      ),
  },
]
