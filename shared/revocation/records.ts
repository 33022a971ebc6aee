import { hash } from 'node:crypto'
import { bindings, type Queryable } from '#shared/stores/postgres.ts'
import type { Entry, Standing, Subject } from './subject.ts'
import { PRODUCTION_TIMINGS } from './timings.ts'

/** A verifier's clock is never further behind than this. */
export const CLOCK_MARGIN_S = 300

/** SQL for whether all access is refused: a fence is raised, or the database is not the one that was confirmed. */
export const FENCED = `(exists (select from restore_fences where lowered_at is null)
  or not exists (select from revocation_trust where place = database_place()))`

/**
 * Takes what `pg_is_in_recovery()` and FENCED said in the statement whose answer counts.
 * @throws an Error with this `code` when the database is a standby, which may be behind its primary, or may have been
 * restored to an earlier moment.
 */
export function assertPrimary({ standby, restored }: { standby?: boolean; restored?: boolean } = {}): void {
  const code = standby ? 'a standby answers' : restored && 'the database has yet to be confirmed'
  if (code) throw Object.assign(new Error(code), { code })
}

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

/**
 * Whether each subject is live, at one moment of the primary. A client that does not exist or is not Active counts
 * as revoked.
 * @throws as `assertPrimary`, when the database may not know yet, or may have forgotten.
 */
export async function readStandings(db: Queryable, subjects: readonly Subject[]): Promise<Standing[]> {
  const { rows } = await db.raw(
    `select pg_is_in_recovery() as standby, ${FENCED} as restored,
       case when asked.client_id is not null and c.status is distinct from 'Active' then 'client'
            when k.kid is not null then 'key'
            when t.jti is not null then 'token' end as revoked
     from unnest(?::text[], ?::text[], ?::text[]) with ordinality as asked (client_id, jti, kid, place)
     left join oauth_clients c on c.client_id = asked.client_id
     left join revoked_tokens t on t.jti = asked.jti
     left join revoked_signing_keys k on k.kid = asked.kid
     order by asked.place`,
    bindings([
      subjects.map(({ clientId }) => clientId ?? null),
      subjects.map(({ jti }) => jti ?? null),
      subjects.map(({ kid }) => kid ?? null),
    ]),
  )
  assertPrimary(rows[0])
  return rows.map(({ revoked }: { revoked: Entry['kind'] | null }) => (revoked ? { revoked } : 'live'))
}

const DIGEST_BYTES = 12

/** What the page of revocations says in place of an id, which it must not give away. */
export const publishedId = (id: string): string =>
  hash('sha256', id, 'buffer').subarray(0, DIGEST_BYTES).toString('base64url')

/** SQL for all of them as JSON: a hundred thousand in JavaScript would hold up every other request. */
const publishedIds = (id: string, condition: string): string => `
  (select '[' || coalesce('"' || string_agg(published, '","' order by published) || '"', '') || ']'
   from (select translate(encode(substring(sha256(convert_to(${id}, 'UTF8')) for ${DIGEST_BYTES}), 'base64'), '+/', '-_')
     collate "C" as published from ${condition}) as ids)`

/**
 * Everything whose revocation was committed before this statement and can still matter: clients, tokens and signing
 * keys as in a round, each a JSON array of `publishedId`s, sorted. Where Postgres' clock is ahead of `now`, `now` decides what is over.
 * @throws as `readStandings`.
 */
export async function readPublishedRevocations(
  db: Queryable,
  now: Date,
): Promise<Record<'clients' | 'tokens' | 'keys', string>> {
  const { rows } = await db.raw(
    `select pg_is_in_recovery() as standby, ${FENCED} as restored,
       ${publishedIds('client_id', 'oauth_clients where revoked_at > least(now(), ?) - make_interval(secs => ?)')} as clients,
       ${publishedIds('jti', 'revoked_tokens where expires_at > least(now(), ?) - make_interval(secs => ?)')} as tokens,
       ${publishedIds('kid', 'revoked_signing_keys')} as keys`,
    [now, PRODUCTION_TIMINGS.lookBack_ms / 1_000, now, CLOCK_MARGIN_S],
  )
  assertPrimary(rows[0])
  return rows[0]
}

/** Returns the run_id of the Redis server that Postgres names. */
export async function readNamedRunId(db: Queryable): Promise<string> {
  const { rows } = await db.raw('select run_id as "runId" from revocation_trust')
  return rows[0].runId
}
