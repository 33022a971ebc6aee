import { deleteExpiredInvitations, EXPIRED_LISTED_MS } from '#shared/accounts/invitations.ts'
import { deleteOldPlaces } from '#shared/accounts/sign-in-places.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { keepEventsInOrder } from './analytics/housekeeping.ts'
import { CREATION_KEY_LIFETIME_MS, deleteExpiredCreations } from './clients/creation-keys.ts'
import type { FetchKeys } from './clients/issuer-keys.ts'
import { refreshIssuers } from './clients/refresh-issuers.ts'
import { deleteOldUsage } from './clients/usage.ts'
import { revokeFoundClients } from './found-secrets/revoke-found.ts'
import { endExpiredSessions } from './sessions/session-events.ts'

const REVOKE_FOUND_EVERY_MS = 2_000
const ISSUERS_EVERY_MS = 60_000
const PURGE_EVERY_MS = 600_000
const EVENTS_EVERY_MS = 600_000
/** At most this many rows per purge, to keep each short. The rest goes next time. */
const PURGE_ROWS = 5_000
/** One row per minute for each client in use. */
const PURGE_USAGE_ROWS = 200_000

export interface HousekeepingDependencies {
  db: Database
  clock: Clock
  log: Log
  fetchKeys: FetchKeys
  /** How long events are kept; daily figures are kept permanently. */
  eventRetention_days: number
  /** Revokes clients whose secret was found. Without it they are only marked. */
  revokesFound?: Revocation
}

/**
 * What any process does beside the requests: fetches issuers' keys, revokes clients whose secret was found, and removes
 * what has expired. It may run in every process at once, and a failure only means that it is done later.
 * Returns a function that stops it once the work in progress is done.
 */
export function startHousekeeping({
  db,
  clock,
  log,
  fetchKeys,
  eventRetention_days,
  revokesFound,
}: HousekeepingDependencies): () => Promise<void> {
  const now = () => clock.now()
  let ending = false
  const endings = [
    repeat(ISSUERS_EVERY_MS, 'fetching keys of issuers', () =>
      refreshIssuers({ db, clock, log, fetchKeys, ending: () => ending }),
    ),
    repeat(PURGE_EVERY_MS, 'purging', async () => {
      await endExpiredSessions({ db, log }, { now: new Date(now()), limit: PURGE_ROWS })
      await deleteExpiredInvitations(db, { now: new Date(now() - EXPIRED_LISTED_MS), limit: PURGE_ROWS })
      await deleteOldPlaces(db, { now_ms: now(), limit: PURGE_ROWS })
      const before = new Date(now() - CREATION_KEY_LIFETIME_MS)
      await deleteExpiredCreations(db, { before, limit: PURGE_ROWS })
      await deleteOldUsage(db, { now: now(), limit: PURGE_USAGE_ROWS })
    }),
    // At once too: a process may not live as long as the interval.
    repeat(EVENTS_EVERY_MS, 'keeping events in order', keepEvents, { atOnce: true }),
    ...(revokesFound
      ? [
          repeat(REVOKE_FOUND_EVERY_MS, 'revoking clients whose secret was found', () =>
            revokeFoundClients(db, revokesFound),
          ),
        ]
      : []),
  ]

  async function keepEvents(): Promise<void> {
    const { created, dropped, forgottenIds } = await keepEventsInOrder(db, { eventRetention_days })
    if (created.length + dropped.length + forgottenIds > 0) {
      log.info({ event: 'housekeeping.done', created, dropped, forgottenIds }, 'events kept in order')
    }
  }

  function repeat(
    every_ms: number,
    what: string,
    task: () => Promise<unknown>,
    { atOnce = false } = {},
  ): () => Promise<void> {
    let running: Promise<void> | undefined
    // Never queued: a slow task must not delay the end of the process by every time that it missed.
    const run = async () => {
      try {
        await task()
      } catch (error) {
        log.warn(
          { event: 'housekeeping.failed', what, error: (error as Error).message },
          'housekeeping failed',
        )
      }
      running = undefined
    }
    const start = () => {
      running ??= run()
    }
    if (atOnce) start()
    const timer = setInterval(start, every_ms)
    timer.unref()
    return async () => {
      clearInterval(timer)
      await running
    }
  }

  return async () => {
    ending = true
    await Promise.all(endings.map((end) => end()))
  }
}
