import { hash } from 'node:crypto'
import { createBatcher } from '#shared/process/batcher.ts'
import { within } from '#shared/process/within.ts'
import { bindings, type Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { assertPrimary, FENCED } from './fence.ts'
import { ASK, entryKey } from './redis.ts'
import { type Entry, type Standing, type Subject, subjectEntries } from './subject.ts'
import { PRODUCTION_TIMINGS } from './timings.ts'

/** A verifier's clock is never further behind than this. */
export const CLOCK_MARGIN_S = 300

/* A transaction that revokes. */

/** Records that a token is revoked, by its id (`jti`, RFC 7519 §4.1.7); repeating it changes nothing. */
export async function insertRevokedToken(
  db: Queryable,
  token: { jti: string; clientId: string; expiresAt: Date },
): Promise<void> {
  await db.raw(
    `insert into revoked_tokens (jti, client_id, expires_at) values (?, ?, ?)
     on conflict (jti) do nothing`,
    [token.jti, token.clientId, token.expiresAt],
  )
}

/** Records that a signing key is revoked, by its `kid`; repeating it changes nothing. */
export async function insertRevokedSigningKey(db: Queryable, kid: string): Promise<void> {
  await db.raw(
    `insert into revoked_signing_keys (kid, revoked_at) values (?, clock_timestamp())
     on conflict (kid) do nothing`,
    [kid],
  )
}

/** Returns the run_id of the Redis server that Postgres names. */
export async function readNamedRunId(db: Queryable): Promise<string> {
  const { rows } = await db.raw('select run_id as "runId" from revocation_trust')
  return rows[0].runId
}

/* `ask`: whether a subject is revoked, by Redis and by the primary. */

/** How many run at once. Of the three connections of the API's pool for decisions, its rounds need one. */
const STATEMENTS_MAX = 2
const SUBJECTS_PER_STATEMENT = 500

/** Returns the marker and which part of each subject Redis has as revoked. Rejects if Redis fails. */
export async function readEntries(
  redis: Redis,
  subjects: readonly Subject[],
): Promise<{ marker: string | null; revoked: (Entry['kind'] | undefined)[] }> {
  const entries = subjects.map(subjectEntries)
  const keys = [...new Set(entries.flat().map(entryKey))]
  const reply = await redis.eval(ASK, 0, redisKeys.revocationMarker, ...keys)
  const [marker = null, ...values] = reply as (string | null)[]
  const present = new Set(keys.filter((_, i) => values[i] !== null))
  const revoked = entries.map((parts) => parts.find((entry) => present.has(entryKey(entry)))?.kind)
  return { marker, revoked }
}

/**
 * Returns whether each subject is live, at one moment of the primary. A client that does not exist or is not
 * Active counts as revoked.
 * @throws as `assertPrimary`, if the database may not know yet, or may have forgotten.
 */
export async function readStandings(db: Queryable, subjects: readonly Subject[]): Promise<Standing[]> {
  const { rows } = await db.raw(
    `select pg_is_in_recovery() as standby, ${FENCED} as restored,
       case when subject.client_id is not null and c.status is distinct from 'Active' then 'client'
            when k.kid is not null then 'key'
            when t.jti is not null then 'token' end as revoked
     from unnest(?::text[], ?::text[], ?::text[]) with ordinality as subject (client_id, jti, kid, place)
     left join oauth_clients c on c.client_id = subject.client_id
     left join revoked_tokens t on t.jti = subject.jti
     left join revoked_signing_keys k on k.kid = subject.kid
     order by subject.place`,
    bindings([
      subjects.map(({ clientId }) => clientId ?? null),
      subjects.map(({ jti }) => jti ?? null),
      subjects.map(({ kid }) => kid ?? null),
    ]),
  )
  assertPrimary(rows[0])
  return rows.map(({ revoked }: { revoked: Entry['kind'] | null }) => (revoked ? { revoked } : 'live'))
}

/**
 * Asks the Postgres primary. Waiting calls share one statement, which begins after each of them was made.
 * Returns a function that answers within `deadline_ms`, `undecided` if Postgres cannot, and never rejects.
 */
export function createPrimaryAsk({ db, deadline_ms }: { db: Queryable; deadline_ms: number }) {
  const read = createBatcher<Subject, Standing>(
    async (subjects) =>
      (await within(deadline_ms, readStandings(db, subjects))) ?? subjects.map(() => 'undecided'),
    SUBJECTS_PER_STATEMENT,
    { concurrency: STATEMENTS_MAX, wait_ms: deadline_ms },
  )
  return (subject: Subject): Promise<Standing> => {
    // Postgres text cannot hold NUL: an id with one was never issued, and must not fail the shared statement.
    const impossible = subjectEntries(subject).find(({ id }) => id.includes('\0'))
    if (impossible) return Promise.resolve({ revoked: impossible.kind })
    return read(subject).catch(() => 'undecided')
  }
}

/* The public page of revocations. */

const DIGEST_BYTES = 12

/** What the page of revocations says in place of an id, which it must not give away. */
export const publishedId = (id: string): string =>
  hash('sha256', id, 'buffer').subarray(0, DIGEST_BYTES).toString('base64url')

/** SQL for all such ids as JSON: a hundred thousand in JavaScript would hold up every other request. */
const publishedIds = (id: string, condition: string): string => `
  (select '[' || coalesce('"' || string_agg(published, '","' order by published) || '"', '') || ']'
   from (select translate(
       encode(substring(sha256(convert_to(${id}, 'UTF8')) for ${DIGEST_BYTES}), 'base64'), '+/', '-_')
     collate "C" as published from ${condition}) as ids)`

const PUBLISHED_CLIENTS = 'oauth_clients where revoked_at > least(now(), ?) - make_interval(secs => ?)'
const PUBLISHED_TOKENS = 'revoked_tokens where expires_at > least(now(), ?) - make_interval(secs => ?)'

/**
 * Returns everything whose revocation was committed before this statement and can still matter: clients,
 * tokens and signing keys as in a round, each a sorted JSON array of `publishedId`s. If Postgres' clock is
 * ahead of `now`, `now` decides what has expired.
 * @throws as `readStandings`.
 */
export async function readPublishedRevocations(
  db: Queryable,
  now: Date,
): Promise<Record<'clients' | 'tokens' | 'keys', string>> {
  const { rows } = await db.raw(
    `select pg_is_in_recovery() as standby, ${FENCED} as restored,
       ${publishedIds('client_id', PUBLISHED_CLIENTS)} as clients,
       ${publishedIds('jti', PUBLISHED_TOKENS)} as tokens,
       ${publishedIds('kid', 'revoked_signing_keys')} as keys`,
    [now, PRODUCTION_TIMINGS.lookBack_ms / 1_000, now, CLOCK_MARGIN_S],
  )
  assertPrimary(rows[0])
  return rows[0]
}
