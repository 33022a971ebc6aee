import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const MIGRATIONS = 'infra/database/migrations'

const PEOPLE = ['apps/api/accounts/people.ts']
const USAGE = ['apps/api/usage']
/** The part of the subject that the authorization server loads, and the rounds, which run in the API. */
const REVOCATION = ['shared/revocation', 'apps/api/revocation']

/** The module or room of each table that has all its SQL. The services write usage by a function. */
const OWNERS: Record<string, string[]> = {
  companies: PEOPLE,
  users: PEOPLE,
  memberships: PEOPLE,
  sessions: ['apps/api/sessions/sessions.ts'],
  sign_in_addresses: ['apps/api/sessions/sign-in-addresses.ts'],
  account_log_key: ['apps/api/sessions'],
  invitations: ['apps/api/people/invitations.ts'],
  invitation_links: ['apps/api/people/invitations.ts'],
  password_resets: ['apps/api/sessions/password-resets.ts'],
  mails: ['apps/api/mail/outbox.ts'],
  openid_identities: ['apps/api/accounts/openid-identities.ts'],
  openid_cookie_key: ['apps/api/sign-in-openid'],
  oauth_clients: ['apps/api/clients/records.ts'],
  client_creation_keys: ['apps/api/clients/idempotency-keys.ts'],
  workload_issuers: ['apps/api/workload/issuers.ts'],
  client_usage: USAGE,
  client_usage_hourly: USAGE,
  client_usage_by_minute: USAGE,
  client_address_usage: USAGE,
  usage_writers: USAGE,
  callback_destinations: ['apps/api/callbacks/destinations.ts'],
  signing_keys: ['shared/oauth/signing-keys.ts'],
  revoked_tokens: REVOCATION,
  revoked_signing_keys: REVOCATION,
  revocation_trust: REVOCATION,
  restore_fences: REVOCATION,
  services: ['infra/admin/services.ts'],
  activity: ['apps/api/accounts/activity.ts'],
  analytics_daily: ['apps/api/analytics'],
  analytics_events: ['apps/api/analytics'],
  analytics_events_default: ['apps/api/analytics'],
  analytics_event_ids: ['apps/api/analytics'],
  analytics_revisions: ['apps/api/analytics'],
}

/** SQL of other modules on a table, by file. An entry that is no longer needed fails the test. */
const EXCEPTIONS: Record<string, { tables: string[]; because: string }> = {
  'apps/api/accounts/activity.ts': { tables: ['users'], because: 'joins the name of a person' },
  'apps/api/callbacks/destinations.ts': { tables: ['users'], because: 'joins the name of a person' },
  'apps/api/mail/outbox.ts': { tables: ['memberships'], because: 'mails whoever manages a company' },
  'apps/api/people/invitations.ts': {
    tables: ['companies', 'users'],
    because: 'joins the names of the company and of a person',
  },
  'apps/api/sessions/password-resets.ts': { tables: ['users'], because: 'joins the account of a link' },
  'apps/api/sessions/sessions.ts': { tables: ['users'], because: 'joins the person of a session' },
  'apps/api/sessions/sign-in-addresses.ts': { tables: ['users'], because: 'finds the person by email' },
  'apps/api/accounts/openid-identities.ts': { tables: ['users'], because: 'joins the person' },
  'apps/api/clients/records.ts': {
    tables: ['users', 'activity', 'client_usage', 'client_usage_hourly', 'companies'],
    because: 'joins the names of people, why a client was revoked, when it was used, and time zones',
  },
  'apps/api/workload/issuers.ts': {
    tables: ['oauth_clients'],
    because: 'an issuer counts only while an Active client trusts it',
  },
  'apps/api/revocation/recent-revocations.ts': {
    tables: ['oauth_clients'],
    because: 'reads all that is revoked in one snapshot',
  },
  'apps/api/revocation/restore-check.ts': {
    tables: ['oauth_clients'],
    because: 'looks up what Redis has as revoked',
  },
  'shared/revocation/state.ts': {
    tables: ['oauth_clients'],
    because: 'reads whether a client is revoked, and the page',
  },
  'shared/oauth/client-credentials.ts': {
    tables: ['oauth_clients', 'workload_issuers'],
    because: 'reads the columns that the role of the authorization server may read',
  },
  'shared/oauth/signing-keys.ts': {
    tables: ['revoked_signing_keys'],
    because: "a key's state follows from one read",
  },
  'apps/auth/post-introspect.ts': {
    tables: ['services'],
    because: 'reads the columns that the role of the authorization server may read',
  },
  'apps/api/stores/database-checks.ts': {
    tables: ['companies'],
    because: 'the comment on the first table is the mark of the schema',
  },
  'infra/admin/companies.ts': {
    tables: ['companies', 'users', 'memberships', 'oauth_clients', 'activity'],
    because: 'erases a company',
  },
  'infra/admin/persons.ts': {
    tables: [
      'companies',
      'users',
      'memberships',
      'sessions',
      'sign_in_addresses',
      'invitations',
      'mails',
      'openid_identities',
      'oauth_clients',
      'client_creation_keys',
      'callback_destinations',
      'activity',
    ],
    because: 'exports and erases all that is known of a person',
  },
  'infra/admin/restore.ts': {
    tables: ['sessions', 'invitations', 'password_resets', 'oauth_clients'],
    because: 'after a restore: ends all sessions and links, and lists the clients to check',
  },
  'infra/admin/keys.ts': {
    tables: ['signing_keys'],
    because: "rotates and encrypts anew, which the services' roles may not",
  },
  'infra/local/seed/seed.ts': { tables: ['companies'], because: 'whether the database is in use' },
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
  const migrations = globSync(`${MIGRATIONS}/*.sql`, { cwd: ROOT })
  const tables = migrations.flatMap((file) => createdTables(readFileSync(join(ROOT, file), 'utf8')))
  const files = globSync('{apps/api,apps/auth,shared,infra}/**/*.ts', {
    cwd: ROOT,
    exclude: (name) => name === 'node_modules',
  })
  const uses = files.map((file) => ({
    file,
    named: tablesIn(readFileSync(join(ROOT, file), 'utf8'), tables),
  }))
  const isOwner = (file: string, table: string): boolean =>
    OWNERS[table]?.some((owner) => file === owner || file.startsWith(`${owner}/`)) ?? false

  it('has a module or room for each table', () => {
    assert.ok(tables.length > 25, `only ${tables.length} tables`)
    assert.deepEqual(Object.keys(OWNERS).sort(), [...tables].sort())
  })

  it('is in that module or room alone, but for the exceptions', () => {
    const strangers = uses.flatMap(({ file, named }) => {
      const foreign = named.filter((table) => !isOwner(file, table))
      return foreign.length > 0 ? [[file, foreign]] : []
    })
    const exceptions = Object.entries(EXCEPTIONS).map(([file, { tables: names }]) => [
      file,
      [...names].sort(),
    ])
    assert.deepEqual(Object.fromEntries(strangers), Object.fromEntries(exceptions))
  })
})
