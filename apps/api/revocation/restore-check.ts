import type { Entry } from '#shared/revocation/subject.ts'
import { bindings, type Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { raiseFence } from './fences.ts'
import type { DatabaseState } from './recent-revocations.ts'
import { failRound, RoundFailed } from './round-failed.ts'
import { SCAN } from './round-scripts.ts'

/* Whether the database may have lost revocations, as after a restore: by what Redis remembers of it. */

/** What Redis remembers of a database from the last round that marked it. */
export interface LastSeen {
  /** Which database: its place without the timeline. */
  of: string
  confirmedAt_ms: number
  /** The newest revocation; empty if there was none. */
  id: string
}

const SEEN = /^(\d{1,15}) (\d{1,20}\/\d{1,10}\/\d{1,10}) (\S{0,100})$/

/** Returns undefined when Redis remembers nothing. */
export function parseSeen(text: string): LastSeen | undefined {
  const [, confirmedAt_ms, of = '', id = ''] = SEEN.exec(text) ?? []
  return confirmedAt_ms === undefined ? undefined : { of, confirmedAt_ms: Number(confirmedAt_ms), id }
}

export const formatSeen = ({ place, confirmedAt_ms, newest }: DatabaseState): string =>
  `${confirmedAt_ms} ${withoutTimeline(place)} ${newest ?? ''}`

export type DatabaseVerdict = 'same' | 'promoted' | { restored: string }

/**
 * Returns whether the database may have forgotten revocations. `promoted`: only its timeline is new, and it
 * knows the newest revocation of the last round, as after the promotion of a standby; only the entries in
 * Redis show whether it knows later ones. What Redis remembers of another database does not count.
 */
export function checkDatabase(
  { place, confirmedPlace, confirmedAt_ms, fence, knowsSeen }: DatabaseState,
  remembered: LastSeen | undefined,
): DatabaseVerdict {
  if (fence !== null) return { restored: fence }
  const seen = remembered?.of === withoutTimeline(place) ? remembered : undefined
  if (seen && seen.confirmedAt_ms > confirmedAt_ms)
    return { restored: 'Redis knows of a later confirmation of the database than the database itself' }
  const comparable = seen?.confirmedAt_ms === confirmedAt_ms
  if (comparable && !knowsSeen) return describeLoss(seen.id)
  if (place === confirmedPlace) return 'same'
  if (comparable && differInTimeline(place, confirmedPlace)) return 'promoted'
  return { restored: 'the database is a copy, or was restored' }
}

/** Returns where the database is (empty for a standby), and where it was confirmed to be complete. */
export async function readPlaces(db: Queryable): Promise<{ place: string; confirmedPlace: string }> {
  const { rows } = await db.raw(
    `select coalesce(database_place(), '') as place, place as "confirmedPlace" from revocation_trust`,
  )
  return rows[0]
}

/**
 * Confirms that the database is complete where it is. The confirmation is dated after `after_ms`, even if the
 * clock of Postgres is behind.
 */
export async function confirmPlace(db: Queryable, { after_ms }: { after_ms: number }): Promise<void> {
  await db.raw(
    `update revocation_trust set place = database_place(),
       confirmed_at = greatest(clock_timestamp(), to_timestamp(? / 1000.0))`,
    [after_ms + 1],
  )
}

/** Whether two places name one database, before and after the promotion of a standby or a recovery. */
export const differInTimeline = (place: string, other: string): boolean =>
  place !== other && withoutTimeline(place) === withoutTimeline(other)

/** @param id the client's or the signing key's. */
const describeLoss = (id: string): DatabaseVerdict => ({
  restored: `the database has forgotten the revocation of ${id}`,
})

const withoutTimeline = (place: string): string => place.slice(0, place.lastIndexOf('/'))

/**
 * Raises a fence if the database may have forgotten revocations, and notes the timeline of a promoted one.
 * Returns why all access must be refused; undefined if all is well.
 */
export async function fenceIfRestored(
  db: Queryable,
  database: DatabaseState,
  verdict: DatabaseVerdict,
): Promise<string | undefined> {
  const { place, confirmedPlace } = database
  if (verdict === 'promoted')
    await db.raw('update revocation_trust set place = ? where place = ?', [place, confirmedPlace])
  if (typeof verdict === 'string') return undefined
  if (database.fence === null) await raiseFence(db, verdict.restored)
  return verdict.restored
}

/** Slots of the server's hash table that one script looks at: about a millisecond. */
const SLOTS_PER_SCRIPT = 1_000
/** The longest life of an access token, and clocks two minutes apart on either side. */
export const TOKEN_MAX_MS = (900 + 2 * 120) * 1_000
/** Ids as they are issued; whoever else wrote a key, no request can name it. */
const ENTRY = /^revoked:(client|token|key):([!-~]{1,100})$/

/**
 * Yields every entry that a Redis server holds from beginning to end, a few at a time or none, some twice.
 * Rejects if another server answers, or Redis fails.
 * @param server Its run_id. Default: whichever answers first.
 */
export async function* scanEntries(redis: Redis, server?: string): AsyncGenerator<Entry[]> {
  let cursor = '0'
  do {
    const reply = await redis.eval(SCAN, 0, cursor, redisKeys.revokedAny, SLOTS_PER_SCRIPT)
    const [runId, [next, keys]] = reply as [string, [string, string[]]]
    server ??= runId
    if (runId !== server) throw new RoundFailed('another server answers')
    cursor = next
    yield keys.flatMap((key) => {
      const [, kind, id] = ENTRY.exec(key) ?? []
      return id === undefined ? [] : [{ kind: kind as Entry['kind'], id }]
    })
  } while (cursor !== '0')
}

/**
 * Returns the entries that are not revoked in Postgres; read them from Redis first. An entry is written after
 * the commit, so Postgres has lost these clients and keys. Tokens it may also have purged after they expired.
 */
export async function findLostEntries(db: Queryable, entries: readonly Entry[]): Promise<Entry[]> {
  if (entries.length === 0) return []
  const { rows } = await db.raw(
    `select kind, id from unnest(?::text[], ?::text[]) as entry (kind, id)
     where not case kind
       when 'client' then exists (select from oauth_clients where client_id = id and status = 'Revoked')
       when 'key' then exists (select from revoked_signing_keys where kid = id)
       else exists (select from revoked_tokens where jti = id) end`,
    bindings([entries.map(({ kind }) => kind), entries.map(({ id }) => id)]),
  )
  return rows
}

/**
 * Stores revocations of tokens again, for as long as one can be valid.
 * Returns the `jti` of those that were not there.
 */
export async function insertLostTokens(db: Queryable, jtis: readonly string[]): Promise<string[]> {
  const { rows } = await db.raw(
    `insert into revoked_tokens (jti, expires_at)
     select jti, now() + make_interval(secs => ?) from unnest(?::text[]) as lost (jti)
     on conflict (jti) do nothing returning jti`,
    bindings([TOKEN_MAX_MS / 1_000, jtis]),
  )
  return rows.map(({ jti }: { jti: string }) => jti)
}

/**
 * Compares a promoted standby with every revocation that Redis holds: a primary may have acknowledged some
 * that an asynchronous standby never got. Lost tokens are stored again. A lost client or key means a fence,
 * since changes that nothing remembers will be lost too.
 * @param parts.nonce Key and value that the server still has unless it was flushed meanwhile.
 * @throws RoundFailed after `deadline_ms`, or when `stopping` comes first. Rejects if Redis fails.
 */
export async function compareWithRedis(parts: {
  redis: Redis
  db: Queryable
  server: string
  nonce: [key: string, value: string]
  deadline_ms: number
  monotonic: () => number
  stopping: AbortSignal | undefined
}): Promise<DatabaseVerdict> {
  const { redis, db, server, deadline_ms, monotonic, stopping } = parts
  const [nonceKey, nonce] = parts.nonce
  const end_ms = monotonic() + deadline_ms
  for await (const entries of scanEntries(redis, server)) {
    const lost = await findLostEntries(db, entries).catch(failRound)
    const evidence = lost.find(({ kind }) => kind !== 'token')
    if (evidence) return describeLoss(evidence.id)
    if (lost.length > 0) await insertLostTokens(db, filterIds('token', lost)).catch(failRound)
    if (stopping?.aborted) throw new RoundFailed('the process ends')
    if (monotonic() > end_ms) throw new RoundFailed('comparing Redis took too long')
  }
  if ((await redis.get(nonceKey)) !== nonce) throw new RoundFailed('the server was flushed')
  return 'promoted'
}

/** Returns the ids of the entries of this kind. */
export const filterIds = (kind: Entry['kind'], entries: readonly Entry[]): string[] =>
  entries.filter((entry) => entry.kind === kind).map(({ id }) => id)
