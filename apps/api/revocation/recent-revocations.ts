import { assertPrimary } from '#shared/revocation/fence.ts'
import { CLOCK_MARGIN_S } from '#shared/revocation/state.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { FENCE_REASON } from './fences.ts'

/** The only Redis server to be trusted, as named in Postgres; a different `since` is a new naming. */
export interface NamedServer {
  runId: string
  since: string | null
}

/** Names another server. Returns the new naming, committed; undefined if `old` was replaced meanwhile. */
export async function replaceNamedServer(
  db: Queryable,
  old: NamedServer,
  runId: string,
): Promise<NamedServer | undefined> {
  const { rows } = await db.raw(
    `update revocation_trust set run_id = ?, since = clock_timestamp()
     where run_id = ? and since is not distinct from ?::timestamptz
     returning run_id as "runId", since::text`,
    [runId, old.runId, old.since],
  )
  return rows[0]
}

/** What a database says about itself, read together with its revocations. */
export interface DatabaseState {
  /** Names this database; the last part is its timeline, which changes when a standby is promoted. */
  place: string
  /** The same at the time when the database was confirmed to be complete. */
  confirmedPlace: string
  confirmedAt_ms: number
  /** Why a fence is up; null if none. */
  fence: string | null
  /** The client or signing key that was revoked last; null if none ever was. */
  newest: string | null
  /** Whether what Redis names as the newest revocation is revoked here. */
  knowsSeen: boolean
}

export interface RecentRevocations {
  named: NamedServer
  /** The database's wall clock, in ms since the epoch. */
  now_ms: number
  /** Every transaction before this one had ended: what it wrote was seen. A transaction id (xid8). */
  watermark: string
  clients: string[]
  tokens: string[]
  keys: string[]
  database: DatabaseState
}

const NEWEST = `(select id from (
  (select client_id, revoked_at from oauth_clients
   where revoked_at is not null order by revoked_at desc limit 1)
  union all
  (select kid, revoked_at from revoked_signing_keys order by revoked_at desc limit 1)
) as last (id, revoked_at) order by revoked_at desc limit 1)`

/**
 * Returns everything whose revocation can still matter: clients revoked within `within_ms`, every signing key
 * ever revoked (a thief can sign a new token at any time), and tokens not yet expired; with the `watermark`
 * of an earlier read, only the tokens that it did not see. One statement, so one snapshot. The watermark goes
 * by transaction ids, not by `revoked_at`, since transactions become visible out of timestamp order.
 * @param since.seen What Redis names as the newest revocation.
 * @throws as `assertPrimary`, if the database is a standby.
 */
export async function readRecentRevocations(
  db: Queryable,
  within_ms: number,
  { watermark, seen = '' }: { watermark?: string | undefined; seen?: string | undefined } = {},
): Promise<RecentRevocations> {
  const unseen = watermark === undefined ? '' : 'and age(xmin) <= age(?::xid8::xid)'
  const { rows } = await db.raw(
    `select pg_is_in_recovery() as standby, run_id as "runId", since::text,
       (extract(epoch from now()) * 1000)::bigint as now_ms,
       pg_snapshot_xmin(pg_current_snapshot())::text as watermark,
       array(select client_id from oauth_clients
         where revoked_at > now() - make_interval(secs => ?)) as clients,
       array(select jti from revoked_tokens
         where expires_at > now() - make_interval(secs => ?) ${unseen}) as tokens,
       array(select kid from revoked_signing_keys) as keys,
       json_build_object('place', database_place(), 'confirmedPlace', place,
         'confirmedAt_ms', (extract(epoch from confirmed_at) * 1000)::bigint,
         'fence', ${FENCE_REASON}, 'newest', ${NEWEST},
         'knowsSeen', ? = ''
           or exists (select from oauth_clients where client_id = ? and status = 'Revoked')
           or exists (select from revoked_signing_keys where kid = ?)) as database
     from revocation_trust`,
    [within_ms / 1_000, CLOCK_MARGIN_S, ...(watermark === undefined ? [] : [watermark]), seen, seen, seen],
  )
  const [{ standby, runId, since, ...recent }] = rows
  assertPrimary({ standby })
  return { named: { runId, since }, ...recent }
}
