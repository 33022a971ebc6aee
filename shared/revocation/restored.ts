import type { Queryable } from '#shared/stores/postgres.ts'

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

export type Verdict = 'same' | 'promoted' | { restored: string }

/**
 * Whether the database may have forgotten revocations. `promoted`: only its timeline is new, and it knows the newest
 * revocation that the last round did, as after the promotion of a standby; whether it knows the later ones too, only
 * the entries in Redis tell. What Redis remembers of another database, which used it before, does not count.
 */
export function judgeDatabase(
  { place, confirmedPlace, confirmedAt_ms, fence, knowsSeen }: DatabaseState,
  remembered: LastSeen | undefined,
): Verdict {
  if (fence !== null) return { restored: fence }
  const seen = remembered?.of === withoutTimeline(place) ? remembered : undefined
  if (seen && seen.confirmedAt_ms > confirmedAt_ms)
    return { restored: 'Redis knows of a later confirmation of the database than the database itself' }
  const comparable = seen?.confirmedAt_ms === confirmedAt_ms
  if (comparable && !knowsSeen) return hasForgotten(seen.id)
  if (place === confirmedPlace) return 'same'
  if (comparable && differInTimeline(place, confirmedPlace)) return 'promoted'
  return { restored: 'the database is a copy, or was restored' }
}

/** Whether two places name one database, before and after the promotion of a standby or a recovery. */
export const differInTimeline = (place: string, other: string): boolean =>
  place !== other && withoutTimeline(place) === withoutTimeline(other)

/** @param id the client's or the signing key's. */
export const hasForgotten = (id: string): Verdict => ({
  restored: `the database has forgotten the revocation of ${id}`,
})

const withoutTimeline = (place: string): string => place.slice(0, place.lastIndexOf('/'))

/**
 * Raises a fence if the database may have forgotten revocations.
 * Returns why all access must be refused; undefined if all is well.
 */
export async function fenceIfRestored(
  db: Queryable,
  database: DatabaseState,
  verdict: Verdict,
): Promise<string | undefined> {
  if (verdict === 'promoted') await followPromotion(db, database)
  if (typeof verdict === 'string') return undefined
  if (database.fence === null) await raiseFence(db, verdict.restored)
  return verdict.restored
}

/** From its commit on, Postgres refuses everyone. What Redis vouched for before ends within seconds. */
export async function raiseFence(db: Queryable, reason: string): Promise<void> {
  await db.raw('insert into restore_fences (reason) values (?) on conflict do nothing', [reason])
}

/** Notes that the database has the timeline of a promoted standby. */
async function followPromotion(db: Queryable, { place, confirmedPlace }: DatabaseState): Promise<void> {
  await db.raw('update revocation_trust set place = ? where place = ?', [place, confirmedPlace])
}
