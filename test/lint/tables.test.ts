import assert from 'node:assert/strict'
import { find, read } from '../support/project.ts'

const MIGRATIONS = 'infra/database/migrations'

const REVOCATION = 'revoked_tokens revoked_signing_keys revocation_trust restore_fences'

/** The tables of each module or room that has all their SQL. The services write usage by a function. */
const OWNED: Record<string, string> = {
  'apps/api/accounts/people.ts': 'companies users memberships',
  'apps/api/sessions/sessions.ts': 'sessions',
  'apps/api/sessions/sign-in-addresses.ts': 'sign_in_addresses',
  'apps/api/sessions': 'account_log_key',
  'apps/api/people/invitations.ts': 'invitations invitation_links',
  'apps/api/sessions/password-resets.ts': 'password_resets',
  'apps/api/mail/outbox.ts': 'mails',
  'apps/api/accounts/openid-identities.ts': 'openid_identities',
  'apps/api/sign-in-openid': 'openid_cookie_key',
  'apps/api/clients/records.ts': 'oauth_clients',
  'apps/api/clients/idempotency-keys.ts': 'client_creation_keys',
  'apps/api/workload/issuers.ts': 'workload_issuers',
  'apps/api/usage':
    'client_usage client_usage_hourly client_usage_by_minute client_address_usage usage_writers',
  'apps/api/callbacks/destinations.ts': 'callback_destinations',
  'shared/oauth/signing-keys.ts': 'signing_keys',
  // The part of the subject that the authorization server loads, and the rounds, which run in the API.
  'shared/revocation': REVOCATION,
  'apps/api/revocation': REVOCATION,
  'infra/admin/services.ts': 'services',
  'apps/api/accounts/activity.ts': 'activity',
  'apps/api/analytics':
    'analytics_daily analytics_events analytics_events_default analytics_event_ids analytics_revisions',
}

/** SQL of other modules on a table, by file. An entry that is no longer needed fails the test. */
const EXCEPTIONS: Record<string, [tables: string, because: string]> = {
  'apps/api/accounts/activity.ts': ['users', 'joins the name of a person'],
  'apps/api/callbacks/destinations.ts': ['users', 'joins the name of a person'],
  'apps/api/mail/outbox.ts': ['memberships', 'mails whoever manages a company'],
  'apps/api/people/invitations.ts': ['companies users', 'joins the names of the company and of a person'],
  'apps/api/sessions/password-resets.ts': ['users', 'joins the account of a link'],
  'apps/api/sessions/sessions.ts': ['users', 'joins the person of a session'],
  'apps/api/sessions/sign-in-addresses.ts': ['users', 'finds the person by email'],
  'apps/api/accounts/openid-identities.ts': ['users', 'joins the person'],
  'apps/api/clients/records.ts': [
    'activity client_usage client_usage_hourly companies users',
    'joins the names of people, why a client was revoked, when it was used, and time zones',
  ],
  'apps/api/workload/issuers.ts': ['oauth_clients', 'an issuer counts while an Active client trusts it'],
  'apps/api/revocation/recent-revocations.ts': ['oauth_clients', 'reads all that is revoked in one snapshot'],
  'apps/api/revocation/restore-check.ts': ['oauth_clients', 'looks up what Redis has as revoked'],
  'shared/revocation/state.ts': ['oauth_clients', 'reads whether a client is revoked, and the page'],
  'shared/oauth/client-credentials.ts': ['oauth_clients workload_issuers', 'reads what apps/auth may read'],
  'shared/oauth/signing-keys.ts': ['revoked_signing_keys', "a key's state follows from one read"],
  'apps/auth/post-introspect.ts': ['services', 'reads what apps/auth may read'],
  'apps/api/stores/database-checks.ts': ['companies', 'the comment on the first table marks the schema'],
  'infra/admin/companies.ts': ['activity companies memberships oauth_clients users', 'erases a company'],
  'infra/admin/persons.ts': [
    `activity callback_destinations client_creation_keys companies invitations mails memberships
      oauth_clients openid_identities sessions sign_in_addresses users`,
    'exports and erases all that is known of a person',
  ],
  'infra/admin/restore.ts': [
    'invitations oauth_clients password_resets sessions',
    'after a restore: ends all sessions and links, and lists the clients to check',
  ],
  'infra/admin/keys.ts': ['signing_keys', "rotates and encrypts anew, which the services' roles may not"],
  'infra/local/seed/seed.ts': ['companies', 'whether the database is in use'],
}

/** Returns the tables that the migrations create. */
const createdTables = (sql: string): string[] =>
  [...sql.matchAll(/^\s*create (?:unlogged )?table (\w+)/gm)].map(([, name = '']) => name)

const COMMENT_LINE = /^\s*(?:\/\/|\/\*|\*\s|\*\/).*$/gm

/** Returns the tables that the SQL in a module names, comments and names of TypeScript apart. */
function tablesIn(module: string, tables: readonly string[]): string[] {
  const code = module.replace(COMMENT_LINE, '')
  const name = `(?:public\\.)?(${tables.join('|')})\\b`
  const patterns = [
    // After its keyword, or second in a list of `from`.
    `\\b(?:from|join|into|update|using|only|table|truncate)\\s+(?:only\\s+)?${name}(?![.-])`,
    `\\bfrom\\s+\\w+(?:\\s+\\w+)?,\\s*${name}`,
    // By the query builder, or where a string is inserted into SQL.
    `\\b(?:\\w*[dD]b|transaction|from|into|table)\\('${name}'`,
    `'(${tables.filter((table) => table.includes('_')).join('|')})'`,
  ]
  const found = patterns.flatMap((pattern) =>
    [...code.matchAll(new RegExp(pattern, 'g'))].map(([, table = '']) => table),
  )
  return [...new Set(found)].sort()
}

describe('the SQL of a table', () => {
  const migrations = find(`${MIGRATIONS}/*.sql`)
  const tables = migrations.flatMap((file) => createdTables(read(file)))
  const files = find('{apps/api,apps/auth,shared,infra}/**/*.ts')
  const uses = files.map((file) => ({
    file,
    named: tablesIn(read(file), tables),
  }))
  const isOwner = (file: string, table: string): boolean =>
    Object.entries(OWNED).some(
      ([owner, owned]) => `${file}/`.startsWith(`${owner}/`) && owned.split(' ').includes(table),
    )

  it('has a module or room for each table', () => {
    assert.ok(tables.length > 25, `only ${tables.length} tables`)
    assert.deepEqual(new Set(Object.values(OWNED).join(' ').split(' ')), new Set(tables))
  })

  it('is in that module or room alone, but for the exceptions', () => {
    const strangers = uses.flatMap(({ file, named }) => {
      const foreign = named.filter((table) => !isOwner(file, table))
      return foreign.length > 0 ? [[file, foreign]] : []
    })
    const exceptions = Object.entries(EXCEPTIONS).map(([file, [names]]) => [file, names.split(/\s+/)])
    assert.deepEqual(Object.fromEntries(strangers), Object.fromEntries(exceptions))
  })

  it('is spread over Citus, one shard after another, in the order in which reports lock the tables', () => {
    const [events = '', citus = ''] = ['migrations/0004_analytics', 'citus'].map((name) =>
      read(`infra/database/${name}.sql`),
    )
    const [, storing] = events.split('create function store_analytics_events')
    const locked = new Set(storing?.match(/(?<=insert into public\.)\w+/g))
    const spread = citus.match(/(?<=create_distributed_table\(')\w+(?=', 'vendor_id')/g)
    assert.deepEqual(spread, [...locked])
    assert.deepEqual(citus.match(/(?<=logicalrelid = ')\w+/g), spread)
    assert.match(citus, /^set local citus\.multi_shard_modify_mode = 'sequential';$/m)
  })
})
