import { bindings, type Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { Broken, fromPostgres } from './broken.ts'
import { hasForgotten, type Verdict } from './restored.ts'
import { SCAN } from './round-scripts.ts'
import type { Entry } from './subject.ts'

/** Places in the server's table that one script looks at: about a millisecond. */
const PLACES_A_SCRIPT = 1_000
/** The longest life of an access token, and clocks two minutes apart on either side. */
export const TOKEN_MAX_MS = (900 + 2 * 120) * 1_000
/** Ids as they are issued; whoever else wrote a key, no request can name it. */
const ENTRY = /^revoked:(client|token|key):([!-~]{1,100})$/

/**
 * Every entry that a Redis server holds from beginning to end, a few at a time or none, some of them twice.
 * Rejects when another server answers, or Redis fails.
 * @param server Its run_id. Default: whichever answers first.
 */
export async function* heldEntries(redis: Redis, server?: string): AsyncGenerator<Entry[]> {
  let cursor = '0'
  do {
    const reply = await redis.eval(SCAN, 0, cursor, redisKeys.revokedAny, PLACES_A_SCRIPT)
    const [runId, [next, keys]] = reply as [string, [string, string[]]]
    server ??= runId
    if (runId !== server) throw new Broken('another server answers')
    cursor = next
    yield keys.flatMap((key) => {
      const [, kind, id] = ENTRY.exec(key) ?? []
      return id === undefined ? [] : [{ kind: kind as Entry['kind'], id }]
    })
  } while (cursor !== '0')
}

/**
 * Those of the entries that are not revoked in Postgres, read after they were. An entry is only written after the
 * commit, so Postgres has lost clients and keys among them; tokens it may also have purged when they had expired.
 */
export async function lostAmong(db: Queryable, entries: readonly Entry[]): Promise<Entry[]> {
  if (entries.length === 0) return []
  const { rows } = await db.raw(
    `select kind, id from unnest(?::text[], ?::text[]) as held (kind, id)
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
 * Compares a promoted standby with every revocation that Redis holds: a primary may have acknowledged some that an
 * asynchronous standby never got. Tokens among them are stored again; a lost client or key means a fence, since other
 * changes will be lost too, which nothing remembers.
 * @param options.nonce Key and value of what the server still has unless it was flushed meanwhile.
 * @throws Broken when that is not known within `deadline_ms`, or before `stopping`; rejects when Redis fails.
 */
export async function judgePromoted(parts: {
  redis: Redis
  db: Queryable
  server: string
  nonce: [key: string, value: string]
  deadline_ms: number
  monotonic: () => number
  stopping: AbortSignal | undefined
}): Promise<Verdict> {
  const { redis, db, server, deadline_ms, monotonic, stopping } = parts
  const [nonceKey, nonce] = parts.nonce
  const end_ms = monotonic() + deadline_ms
  for await (const entries of heldEntries(redis, server)) {
    const lost = await lostAmong(db, entries).catch(fromPostgres)
    const proof = lost.find(({ kind }) => kind !== 'token')
    if (proof) return hasForgotten(proof.id)
    if (lost.length > 0) await insertLostTokens(db, idsOf('token', lost)).catch(fromPostgres)
    if (stopping?.aborted) throw new Broken('the process ends')
    if (monotonic() > end_ms) throw new Broken('comparing Redis took too long')
  }
  if ((await redis.get(nonceKey)) !== nonce) throw new Broken('the server was flushed')
  return 'promoted'
}

/** Returns the ids of the entries of this kind. */
export const idsOf = (kind: Entry['kind'], entries: readonly Entry[]): string[] =>
  entries.filter((entry) => entry.kind === kind).map(({ id }) => id)
