import { connectedDatabase } from './stores.ts'

/*
 * Spreading the tables over machines by company (Citus) takes statements that name their company. So after a
 * run of the tests, each statement that a service's role sent to the test server is checked: if its table has
 * a vendor_id, it names that, or is listed here with its reason.
 */

/** Server settings that keep every statement of a run. */
export const STATEMENT_SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.max': '50000',
  'pg_stat_statements.track': 'top',
  'pg_stat_statements.track_utility': 'off',
  'pg_stat_statements.save': 'off',
}

const EXCEPTIONS: [why: string, pattern: RegExp][] = [
  ['a round reads what was revoked in any company', /from revocation_trust$/],
  ['a gauge reads the oldest row of each table that is purged', /^select \(select min\(/],
  ['the page of revocations lists those of any company', /as published from oauth_clients where revoked_at/],
  ['a round compares all that Redis holds after a promotion', /as entry \(kind, id\)/],
  ['clients are asked about by ids that are unique everywhere', /as subject \(client_id, jti, kid, place\)/],
  [
    'the keys of an issuer are fetched once for all companies',
    /update workload_issuers set (keys|failure) =/,
  ],
  [
    'a link is used by its secret alone, and its invitation purged when it is late',
    /(invitation_links l|invitations where expires_at)/,
  ],
  ['mails of all companies are sent and purged in one order', /(?:update|from) mails (?:set|where)/],
]

/** @throws Error with the statements that name no company and are no exception. `url` is the superuser's. */
export async function assertCompaniesNamed(url: string, tenantUrl: string): Promise<void> {
  const tables = await query<{ name: string }>(
    tenantUrl,
    `select distinct table_name as name from information_schema.columns
     where table_schema = 'public' and column_name = 'vendor_id'`,
  )
  const touching = new RegExp(
    `\\b(?:from|join|into|update|table) (?:public\\.)?(?:${tables.map(({ name }) => name).join('|')})\\b`,
  )
  const statements = await query<{ text: string }>(
    url,
    `select distinct regexp_replace(query, '\\s+', ' ', 'g') as text from pg_stat_statements
     where userid in (select oid from pg_roles where rolname in ('integration_auth', 'integration_api'))`,
  )
  const unnamed = statements
    .map(({ text }) => text.toLowerCase())
    .filter((text) => touching.test(text) && !/\bvendor_id\b/.test(text))
    .filter((text) => !EXCEPTIONS.some(([, pattern]) => pattern.test(text)))
  if (unnamed.length > 0)
    throw new Error(`these statements name no company (vendor_id):\n${unnamed.join('\n')}`)
}

async function query<Row>(url: string, sql: string): Promise<Row[]> {
  await using db = connectedDatabase(url)
  return (await db.raw(sql)).rows
}
