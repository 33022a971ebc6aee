import assert from 'node:assert/strict'
import { afterwards } from '../support/block.ts'
import { sharedDatabase } from '../support/database.ts'
import { read } from '../support/project.ts'

/** A right to each of these tables, `*` after it being every column. */
const each = (right: string, tables: string): string[] => {
  const [what, columns] = right.split(' ')
  return tables.split(/\s+/).map((table) => [what, table, columns].filter(Boolean).join(' '))
}

/** Everything that each role may do, `*` being every column. What is not here, it may not. */
const RIGHTS: Record<string, string[]> = {
  integration_auth: [
    ...each('execute', `database_place record_usage`),
    ...each('select *', `revocation_trust revoked_signing_keys revoked_tokens signing_keys`),
    'insert revoked_tokens jti, client_id, expires_at',
    'insert signing_keys *',
    'select oauth_clients client_id, vendor_id, scopes, secret_hash, status, revoked_at, public_key, workload_issuer, workload_claims, workload_platform, expires_at',
    'select restore_fences lowered_at',
    'select services service_id, secret_hash, revoked_at',
    'select workload_issuers vendor_id, issuer, keys_from, keys, keys_as_of',
  ],
  integration_api: [
    ...each(
      'delete',
      `client_address_usage client_creation_keys client_usage_by_minute
      client_usage_hourly invitations mails memberships password_resets sessions sign_in_addresses
      usage_writers`,
    ),
    ...each(
      'execute',
      `are_workload_claims create_analytics_event_partitions database_place
      delete_old_default_events drop_old_analytics_events forget_old_analytics_event_ids
      mark_found_secrets purge_expired_revoked_tokens record_usage store_analytics_events`,
    ),
    ...each(
      'insert *',
      `callback_destinations client_creation_keys invitation_links invitations
      memberships oauth_clients password_resets sessions sign_in_addresses workload_issuers`,
    ),
    ...each(
      'select *',
      `account_log_key analytics_daily analytics_event_ids analytics_events_default
      analytics_revisions callback_destinations client_address_usage client_creation_keys client_usage
      client_usage_by_minute client_usage_hourly companies invitation_links invitations mails memberships
      openid_cookie_key openid_identities password_resets restore_fences revocation_trust
      revoked_signing_keys revoked_tokens sessions sign_in_addresses usage_writers users workload_issuers`,
    ),
    ...each('update *', `callback_destinations client_creation_keys sign_in_addresses`),
    'insert activity vendor_id, user_id, action, subject, detail',
    'insert mails kind, topic, user_id, vendor_id, detail, is_urgent, turn_at',
    'insert openid_identities issuer, subject, user_id',
    'insert restore_fences reason',
    'insert revoked_tokens jti, expires_at',
    'insert users user_id, email, name, password_hash',
    'select activity entry_id, vendor_id, user_id, action, subject, detail, at',
    'select oauth_clients client_id, vendor_id, name, scopes, status, created_at, created_by, revoked_at, revoked_by, secret_hint, replaces, key_thumbprint, workload_issuer, workload_claims, workload_platform, expires_at, secret_found_at, secret_found_source',
    'update invitations expires_at',
    'update mails attempts, detail, due_at, sender, sent_at, turn_at',
    'update memberships role, status',
    'update oauth_clients name, status, revoked_by',
    'update revocation_trust run_id, since, place',
    'update sessions last_seen_at',
    'update users email, password_hash',
    'update workload_issuers keys_from, keys, keys_as_of, attempted_at, failure',
  ],
  integration_operator: [
    ...each('delete', `invitations openid_identities password_resets sessions sign_in_addresses`),
    ...each(
      'execute',
      `are_workload_claims company_tables database_place erase_company
      erase_company_rows erase_from_activity erase_person store_analytics_events`,
    ),
    ...each('insert *', `memberships revoked_signing_keys sign_in_addresses signing_keys`),
    ...each(
      'select *',
      `activity analytics_daily analytics_event_ids memberships openid_identities
      restore_fences revoked_signing_keys sign_in_addresses signing_keys users`,
    ),
    'insert activity vendor_id, action, subject, detail, operator',
    'insert companies vendor_id, name, timezone, currency',
    'insert mails kind, topic, user_id, vendor_id, detail, is_urgent, turn_at',
    'insert restore_fences reason',
    'insert revoked_tokens jti, expires_at',
    'insert services service_id, name, secret_hash',
    'insert users user_id, email, name, password_hash',
    'select callback_destinations vendor_id, updated_at, updated_by',
    'select client_creation_keys vendor_id, user_id, idempotency_key, client_id, created_at',
    'select companies vendor_id, name, timezone, currency, erased_at',
    'select invitations vendor_id, user_id, email, name, role, created_at, expires_at',
    'select mails mail_id, kind, topic, user_id, vendor_id, created_at, due_at',
    'select oauth_clients client_id, vendor_id, name, scopes, status, created_at, created_by, revoked_at, revoked_by, secret_hint, replaces, key_thumbprint, workload_issuer, workload_claims, workload_platform, expires_at, secret_found_at, secret_found_source',
    'select revocation_trust run_id, place',
    'select revoked_tokens jti',
    'select services service_id, name, created_at, revoked_at',
    'select sessions user_id, created_at, expires_at, session_id, last_seen_at, address, user_agent, authenticated_at, openid_issuer',
    'update memberships role, status',
    'update oauth_clients status, revoked_by',
    'update restore_fences lowered_at',
    'update revocation_trust place, confirmed_at',
    'update services revoked_at',
    'update sign_in_addresses last_at',
    'update signing_keys private_key_encrypted, activates_at',
    'update users email, password_hash',
  ],
}

const OF_COLUMNS = ['select', 'insert', 'update', 'references']
const OF_TABLES = ['delete', 'truncate', 'trigger']
/** The first version that has the right "maintain". */
const MAINTAIN = 170_000

/** Citus, for one, lets everyone read its catalogs. */
const NOT_OF_AN_EXTENSION = `not exists (select from pg_depend where objid = c.oid and deptype = 'e')`

/** A right with its columns in the order of their names, so that the order in the table does not matter. */
const byName = (right: string): string => {
  const [what = '', table = '', ...columns] = right.split(/,? /)
  return [what, table, columns.sort().join(', ')].filter(Boolean).join(' ')
}

describe('the database rights of a role', () => {
  const database = sharedDatabase()

  const lines = async (sql: string, values: Record<string, unknown>): Promise<string[]> =>
    (await database.owner.raw(sql, values as never)).rows.map(({ line }: { line: string }) => line)

  const onColumns = (role: string) =>
    lines(
      `select format('%s %s %s', right_, relname, case when count(*) filter (where may) = count(*) then '*'
                else string_agg(attname, ', ' order by attname) filter (where may) end) as line
       from (select relname, attname, attnum, right_,
               has_column_privilege(:role, c.oid, attnum, right_) as may
             from pg_class c join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped,
               unnest(:rights::text[]) as right_
             where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
               and ${NOT_OF_AN_EXTENSION}) as each
       group by relname, right_ having bool_or(may)`,
      { role, rights: OF_COLUMNS },
    )
  const onTables = async (role: string) => {
    const { rows } = await database.owner.raw(`select current_setting('server_version_num')::int as version`)
    return lines(
      `select format('%s %s', right_, relname) as line from pg_class c, unnest(:rights::text[]) as right_
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
         and ${NOT_OF_AN_EXTENSION} and has_table_privilege(:role, c.oid, right_)`,
      { role, rights: rows[0].version < MAINTAIN ? OF_TABLES : [...OF_TABLES, 'maintain'] },
    )
  }
  const onSequences = (role: string) =>
    lines(
      `select format('%s %s', right_, relname) as line from pg_class c, unnest(array['usage', 'select', 'update']) as right_
       where relkind = 'S' and ${NOT_OF_AN_EXTENSION} and has_sequence_privilege(:role, c.oid, right_)`,
      { role },
    )
  /** Ours; and of Postgres' own, those that are not everybody's. */
  const onFunctions = (role: string) =>
    lines(
      `select 'execute ' || proname as line from pg_proc
       where has_function_privilege(:role, oid, 'execute')
         and (pronamespace = 'public'::regnamespace or proname ~ '^lo_(creat|from_bytea|import|export)'
              or :role::regrole::oid in (select grantee from aclexplode(proacl)))`,
      { role },
    )

  it('comes from an owner, and ends at the other databases, by the SQL of the runbook', async () => {
    const sql = read('infra/runbook/install.md').matchAll(/`((?:create role|\w+ connect on) [^`]+)`/g)
    const transaction = await database.owner.transaction()
    await using _ = afterwards(() => transaction.rollback())
    await transaction.raw([...sql].map(([, statement]) => statement).join(';'))
    const { rows } = await transaction.raw(
      `select rolcreaterole and rolcanlogin and not rolsuper as is_owner, array(
         select datname::text from pg_database where datname in ('postgres', 'template1')
         and has_database_privilege('integration_api', datname, 'connect')) as open
       from pg_roles where rolname = 'integration_owner'`,
    )
    assert.deepEqual(rows, [{ is_owner: true, open: [] }])
  })

  for (const [role, rights] of Object.entries(RIGHTS)) {
    it(`grants ${role} these rights and no others`, async () => {
      const found = await Promise.all([onColumns, onTables, onSequences, onFunctions].map((of) => of(role)))
      assert.deepEqual(found.flat().sort(), rights.map(byName).sort())
    })

    it(`grants ${role} no more than a plain login`, async () => {
      const { rows } = await database.owner.raw(
        `select rolname from pg_roles r where rolname = ? and (
           rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls
           or has_schema_privilege(oid, 'public', 'create')
           or has_database_privilege(oid, current_database(), 'create,temporary')
           or exists (select from pg_auth_members where member = r.oid))`,
        [role],
      )
      assert.deepEqual(rows, [])
    })
  }
})
