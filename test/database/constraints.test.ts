import assert from 'node:assert/strict'
import { sharedDatabase } from '../support/database.ts'

const NO_SUCH_TYPE = '22P02'
const NOT_NULL = '23502'
const REFERENCE = '23503'
const UNIQUE = '23505'
const CHECK = '23514'

const CLIENT = `cli_${'a'.repeat(22)}`
const REVOKED = `cli_${'b'.repeat(22)}`
const NEW = `cli_${'c'.repeat(22)}`
const OTHERS = `cli_${'d'.repeat(22)}`
const REPLACED = `cli_${'e'.repeat(22)}`
const REPLACING = `cli_${'f'.repeat(22)}`
const KEYED = `cli_${'g'.repeat(22)}`
const WORKLOAD = `cli_${'h'.repeat(22)}`
const THUMBPRINT = `repeat('x', 43)`
const SECRET_HASH = `decode(repeat('00', 32), 'hex')`
const client = (columns: string, values: string, clientId = NEW) =>
  `insert into oauth_clients (client_id, vendor_id, name, secret_hash, ${columns})
   values ('${clientId}', 'ven_a', 'n', ${SECRET_HASH}, ${values})`
const keyed = (key: string, thumbprint: string, clientId = NEW) =>
  `insert into oauth_clients (client_id, vendor_id, name, scopes, public_key, key_thumbprint)
   values ('${clientId}', 'ven_a', 'n', '{}', ${key}, ${thumbprint})`
const workload = (issuer: string, claims: string, clientId = NEW) =>
  `insert into oauth_clients (client_id, vendor_id, name, scopes, workload_issuer, workload_claims)
   values ('${clientId}', 'ven_a', 'n', '{}', ${issuer}, ${claims})`
const claims = (text: string) => workload(`'https://i.example'`, text)
const issuer = (changes: Record<string, string>) => {
  const columns = {
    vendor_id: `'ven_a'`,
    issuer: `'https://j.example'`,
    keys_from: `'issuer'`,
    keys: `'[{"kty":"EC"}]'`,
    keys_as_of: 'now()',
    attempted_at: 'now()',
    ...changes,
  }
  return `insert into workload_issuers (${Object.keys(columns)}) values (${Object.values(columns)})`
}
const change = (clientId: string, columns: string) =>
  `update oauth_clients set ${columns} where client_id = '${clientId}'`
const ERASED_WORKLOAD = `workload_issuer = 'https://erased.invalid', workload_claims = '{"sub":"erased"}'`
const found = (source: string) =>
  client('scopes, secret_found_at, secret_found_source', `'{}', now(), ${source}`)
const day = (column: string, value: string) =>
  `insert into analytics_daily (vendor_id, date, last_event_at, ${column}) values ('ven_a', '2026-01-02', now(), ${value})`
const BEYOND = '9007199254740992'
const event = (type: string, quantity: string, amount: string) =>
  `insert into analytics_events (vendor_id, event_id, type, date, occurred_at, quantity, amount_minor)
   values ('ven_a', 'e', '${type}', '2026-01-02', now(), ${quantity}, ${amount})`

const act = (values: string) =>
  `insert into activity (action, subject, vendor_id, user_id, operator) values ('a', 's', ${values})`

const placedAct = (entryId: string, at = 'now') =>
  `insert into activity (entry_id, action, subject, operator, at) overriding system value
   values (${entryId}, 'a', 's', 'root', '${at}')`

/** Inserts the invitation of a new person, with these columns changed. */
const invitation = (changes: Record<string, string>) => {
  const columns = {
    vendor_id: `'ven_a'`,
    user_id: `'usr_x'`,
    email: `'x@a.example'`,
    name: `'X'`,
    role: `'member'`,
    invited_by: `'usr_a'`,
    created_at: 'now()',
    expires_at: 'now()',
    ...changes,
  }
  return `insert into invitations (${Object.keys(columns)}) values (${Object.values(columns)})`
}
const session = (columns: string, values: string) =>
  `insert into sessions (token_hash, user_id, created_at, expires_at, ${columns})
   values (${SECRET_HASH}, 'usr_a', now(), now(), ${values})`

/** The state is CHECK where none is named. */
const REFUSED: [what: string, sql: string, state?: string][] = [
  ['a second owner', `insert into memberships values ('ven_a', 'usr_b', 'owner')`, UNIQUE],
  ['a suspended owner', `update memberships set status = 'suspended' where user_id = 'usr_a'`],
  ['an unknown role', `update memberships set role = 'root' where user_id = 'usr_c'`],
  ['a second membership of one person', `insert into memberships values ('ven_a', 'usr_c', 'admin')`, UNIQUE],
  ['a member without an account', `insert into memberships values ('ven_a', 'usr_x', 'admin')`, REFERENCE],
  ['an address in capitals', `insert into users values ('usr_d', 'D@a.example', 'n', '$argon2id$')`],
  [
    'two people of one account at one provider',
    `insert into openid_identities values ('https://a', '1', 'usr_a'), ('https://a', '2', 'usr_a')`,
    UNIQUE,
  ],
  [
    'two accounts of one person at a provider',
    `insert into openid_identities values ('https://a', '1', 'usr_a'), ('https://a', '1', 'usr_b')`,
    UNIQUE,
  ],
  ['a person without a name', `insert into users values ('usr_d', 'd@a.example', '', '$argon2id$')`],
  ['an unknown status of a member', `update memberships set status = 'gone' where user_id = 'usr_c'`],
  ['a company of another id', `insert into companies values ('acme', 'A', 'UTC', 'EUR')`],
  ['a currency in small letters', `insert into companies values ('ven_c', 'C', 'UTC', 'eur')`],
  ['a subject of no provider', `insert into openid_identities values ('', '1', 'usr_a')`],
  ['a provider’s empty subject', `insert into openid_identities values ('https://a', '', 'usr_a')`],
  ['a password that is not hashed', `update users set password_hash = 'password'`],
  ['a session token that is not hashed', `insert into sessions values ('token', 'usr_a', now(), now())`],
  ['a browser’s name of 201 characters', session('user_agent', `repeat('x', 201)`)],
  ['a session of a provider without a name', session('openid_issuer', `''`)],
  ['a provider’s name of 2,001 characters', session('openid_issuer', `repeat('x', 2001)`)],
  ['an address of 61 characters', session('address', `repeat('x', 61)`)],
  ['a member of an erased company', `insert into memberships values ('ven_e', 'usr_c', 'member')`],
  ['a client of an erased company', client('scopes', `'{}'`).replace('ven_a', 'ven_e')],
  ['an invitation as owner', invitation({ role: `'owner'` })],
  ['a link whose token is not hashed', `insert into invitation_links values ('token', 'usr_i')`],
  ['a link of no invitation', `insert into invitation_links values (${SECRET_HASH}, 'usr_x')`, REFERENCE],
  [
    'a link to set a password whose token is not hashed',
    `insert into password_resets values ('token', 'usr_a', now(), now())`,
  ],
  ['an invitation to an address in capitals', invitation({ email: `'X@a.example'` })],
  ['a second invitation of one address', invitation({ email: `'i@a.example'` }), UNIQUE],
  ['an invitation by nobody', invitation({ invited_by: 'null' }), NOT_NULL],
  ['a scope that does not exist', client('scopes', `'{analytics:read,analytics:delete}'`)],
  ['a scope that is null', client('scopes', `'{analytics:read,null}'`)],
  ['a client whose scopes are null', client('scopes', 'null'), NOT_NULL],
  ['a client of an unknown creator', client('scopes, created_by', `'{}', 'usr_x'`), REFERENCE],
  ['an Active client with a time of revocation', client('scopes, revoked_at', `'{}', now()`)],
  ['a Revoked client without one', client('scopes, status', `'{}', 'Revoked'`)],
  ['a client that loses it', change(REVOKED, 'revoked_at = null')],
  ['a client that is revoked again', change(REVOKED, 'revoked_at = now()')],
  ['a client that someone else has revoked', change(REVOKED, `revoked_by = 'usr_a'`)],
  ['a client that lives again', `update oauth_clients set status = 'Active', revoked_at = null`],
  ['a service that lives again', 'update services set revoked_at = null'],
  ['a service that is revoked again', 'update services set revoked_at = now()'],
  ['a client that becomes another company’s', `update oauth_clients set vendor_id = 'ven_b'`],
  ['a client with more scopes', `update oauth_clients set scopes = '{boost:write}'`],
  ['a client with another secret', `update oauth_clients set secret_hash = sha256('x')`],
  ['a client that also has a key', client('scopes, public_key, key_thumbprint', `'{}', '{}', ${THUMBPRINT}`)],
  [
    'a client without secret or key',
    `insert into oauth_clients (client_id, vendor_id, name, scopes) values ('${NEW}', 'ven_a', 'n', '{}')`,
  ],
  ['a client with a private key', keyed(`'{"kty":"EC","d":"x"}'`, THUMBPRINT)],
  ['a key that is no object', keyed(`'[]'`, THUMBPRINT)],
  ['a key without a thumbprint', keyed(`'{}'`, 'null')],
  ['a thumbprint that is none', keyed(`'{}'`, `'x'`)],
  ['a client with another key', change(KEYED, `public_key = '{"kty":"OKP"}'`)],
  ['a workload without an issuer', workload('null', `'{"sub":"a"}'`)],
  ['a workload without claims', workload(`'https://i.example'`, 'null')],
  [
    'a workload that also has a secret',
    client('scopes, workload_issuer, workload_claims', `'{}', 'https://i.example', '{"sub":"a"}'`),
  ],
  [
    'a workload that also has a key',
    `insert into oauth_clients
       (client_id, vendor_id, name, scopes, public_key, key_thumbprint, workload_issuer, workload_claims)
     values ('${NEW}', 'ven_a', 'n', '{}', '{}', ${THUMBPRINT}, 'https://i.example', '{"sub":"a"}')`,
  ],
  ...[
    'http://i.example',
    'https://I.example',
    'https://u:p@i.example',
    'https://i.example\\?a',
    'https://i.example/#a',
    'https://i.example/ä',
  ].map((text): [string, string] => [`the issuer ${text}`, workload(`'${text}'`, `'{"sub":"a"}'`)]),
  ['an issuer of 513 characters', workload(`'https://' || repeat('i', 505)`, `'{"sub":"a"}'`)],
  ...[
    '[]',
    '{}',
    '{"sub":1}',
    '{"sub":{"a":"b"}}',
    '{"sub":""}',
    '{"":"a"}',
    '{"s b":"a"}',
    '{"iss":"a"}',
    '{"sub":"a","aud":"a"}',
    '{"sub":"a","exp":"1"}',
    '{"sub":"a","iat":"1"}',
    '{"sub":"a","nbf":"1"}',
    '{"sub":"a","jti":"1"}',
    '{"sub":"a\\nb"}',
    `{"sub":"${'a'.repeat(256)}"}`,
    `{"${'a'.repeat(65)}":"a"}`,
    JSON.stringify(Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`c${i}`, 'a']))),
  ].map((json): [string, string] => [`the claims ${json.slice(0, 40)}`, claims(`'${json}'`)]),
  ['a client with another issuer', change(WORKLOAD, `workload_issuer = 'https://j.example'`)],
  [
    'a workload of an unknown platform',
    `insert into oauth_clients
       (client_id, vendor_id, name, scopes, workload_issuer, workload_claims, workload_platform)
     values ('${NEW}', 'ven_a', 'n', '{}', 'https://i.example', '{"sub":"a"}', 'jenkins')`,
  ],
  ['a platform without a workload', client('scopes, workload_platform', `'{}', 'github'`)],
  ['a client with another platform', change(WORKLOAD, `workload_platform = 'github'`)],
  ['a client with other claims', change(WORKLOAD, `workload_claims = '{"sub":"b"}'`)],
  ['an Active client whose workload is erased', change(WORKLOAD, ERASED_WORKLOAD)],
  [
    'a Revoked client with another workload',
    change(WORKLOAD, `status = 'Revoked', workload_claims = '{"sub":"b"}'`),
  ],
  ['a client that becomes a workload', change(REVOKED, `secret_hash = null, ${ERASED_WORKLOAD}`)],
  ['an issuer a second time', issuer({ issuer: `'https://i.example'` }), UNIQUE],
  ['an issuer of no company', issuer({ vendor_id: `'ven_x'` }), REFERENCE],
  ['an issuer without TLS', issuer({ issuer: `'http://j.example'` })],
  ['an issuer with a query', issuer({ issuer: `'https://j.example\\?a'` })],
  ['keys of a stranger', issuer({ keys_from: `'stranger'` })],
  ['an issuer without keys', issuer({ keys: `'[]'` })],
  ['keys that are no list', issuer({ keys: `'{}'` })],
  ['an issuer’s private key', issuer({ keys: `'[{"kty":"EC"},{"kty":"EC","d":"x"}]'` })],
  ['an issuer’s shared key', issuer({ keys: `'[{"kty":"oct","k":"x"}]'` })],
  [
    'an issuer of 101 keys',
    issuer({ keys: `(select jsonb_agg('{"kty":"EC"}'::jsonb) from generate_series(1, 101))` }),
  ],
  ['a failure of 201 characters', issuer({ failure: `repeat('x', 201)` })],
  ['a client that expires later', change(KEYED, `expires_at = now() + interval '1 day'`)],
  [
    'a client that expired before it was made',
    client('scopes, expires_at', `'{}', now() - interval '1 day'`),
  ],
  ['a client that expires at infinity', client('scopes, expires_at', `'{}', 'infinity'`)],
  ['a found secret of a client that has a key', change(KEYED, 'secret_found_at = now()')],
  ['a source without a found secret', client('scopes, secret_found_source', `'{}', 'a'`)],
  ['a source of 201 characters', found(`repeat('x', 201)`)],
  ['an empty source', found(`''`)],
  ['a source of two lines', found(`E'a\\nb'`)],
  ['a source that turns the text around', found(`U&'\\202E'`)],
  ['a source with the start of a secret', found(`'ias_' || repeat('0', 16)`)],
  ['a secret found again', change(REPLACED, 'secret_found_at = now()')],
  ['a secret that is no longer found', change(REPLACED, 'secret_found_at = null')],
  ['another source of a found secret', change(REPLACED, `secret_found_source = 'b'`)],
  ['a client that replaces another one later', change(REPLACED, `replaces = '${CLIENT}'`)],
  ['a client that replaces itself', client('scopes, replaces', `'{}', '${NEW}'`)],
  ['a client that replaces another company’s', client('scopes, replaces', `'{}', '${OTHERS}'`), REFERENCE],
  ['a second Active replacement', client('scopes, replaces', `'{}', '${REPLACED}'`), UNIQUE],
  ['a client of another id', client('scopes', `'{}'`, 'cli_short')],
  ['a client revoked by someone but not revoked', client('scopes, revoked_by', `'{}', 'usr_a'`)],
  ['a hint of a whole secret', client('scopes, secret_hint', `'{}', 'abcde'`)],
  [
    'a secret that is not hashed',
    `insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
     values ('${NEW}', 'ven_a', 'n', '{}', 'x')`,
  ],
  ...['impressions', 'clicks', 'orders', 'units_sold', 'revenue_minor', 'boost_spend_minor'].flatMap(
    (column): [string, string, string?][] => [
      [`${column} beyond 2^53 − 1`, day(column, BEYOND)],
      [`${column} below 0`, day(column, '-1')],
      [`no ${column}`, day(column, 'null'), NOT_NULL],
    ],
  ),
  ['a day without its newest event', day('clicks', '1').replace('now()', 'null'), NOT_NULL],
  ['an event of an unknown type', event('view', '1', 'null'), NO_SUCH_TYPE],
  ...['impression', 'click', 'order'].flatMap((type): [string, string, string?][] => {
    const amount = type === 'order' ? '1' : 'null'
    return ['null', '0', BEYOND].map((quantity) => [
      `an event of type ${type} with quantity ${quantity}`,
      event(type, quantity, amount),
    ])
  }),
  ['an impression with an amount', event('impression', '1', '1')],
  ['a click with an amount', event('click', '1', '1')],
  ...['null', '-1', BEYOND].flatMap((amount): [string, string, string?][] => [
    [`an order with the amount ${amount}`, event('order', '1', amount)],
    [`a boost spend with the amount ${amount}`, event('boost_spend', 'null', amount)],
  ]),
  ['a boost spend with a quantity', event('boost_spend', '1', '1')],
  ['an event a second time', `insert into analytics_event_ids values ('ven_a', 'seen')`, UNIQUE],
  ['an event without an id', `insert into analytics_event_ids values ('ven_a', null)`, NOT_NULL],
  ['a second row of trust', `insert into revocation_trust (only_row) values (false)`],
  ['a token revoked twice', `insert into revoked_tokens values ('jti', '${CLIENT}', now(), now())`, UNIQUE],
  ['a token without an end', `insert into revoked_tokens (jti) values ('a')`, NOT_NULL],
  ['a token without an id', `insert into revoked_tokens values ('', '${CLIENT}', now(), now())`],
  [
    'a signing key of another algorithm',
    `insert into signing_keys values ('kid', 'none', '{}', '', now(), now())`,
  ],
  [
    'the key of a creation whose request is not hashed',
    `insert into client_creation_keys values ('ven_a', 'usr_a', 'k', 'request', '${CLIENT}', now())`,
  ],
  [
    'fewer refusals than none',
    `insert into client_usage_hourly (client_id, hour, tokens, refused) values ('${CLIENT}', now(), 0, -1)`,
  ],
  ['a second fence', `insert into restore_fences (reason) values ('another')`, UNIQUE],
  ['a fence without a reason', `insert into restore_fences (reason, lowered_at) values ('', now())`],
  [
    'a callback without TLS',
    `insert into callback_destinations values ('ven_a', 'http://x', true, now(), 'usr_a')`,
  ],
  [
    'a callback of 2,049 bytes',
    `insert into callback_destinations values ('ven_a', 'https://x/' || repeat('x', 2039), true, now(), 'usr_a')`,
  ],
  ['an act of a person and an operator at once', act(`'ven_a', 'usr_a', 'root'`)],
  ['an act of a person that concerns no company', act(`null, 'usr_a', null`)],
  ['an act of nobody that concerns no company', act('null, null, null')],
  ['an act numbered 0', placedAct('0')],
  ['an act numbered beyond 2^53 - 1', placedAct(BEYOND)],
  ...['infinity', '-infinity', '10000-01-01Z', '0001-01-01Z BC'].map((at): [string, string] => [
    `an act dated ${at}`,
    placedAct('7', at),
  ]),
  ['an act of an operator without a name', act(`'ven_a', null, ''`)],
  ['an act of an operator whose name is endless', act(`'ven_a', null, repeat('x', 101)`)],
]

describe('the database, whoever asks', () => {
  const database = sharedDatabase()
  before(() =>
    database.owner.raw(`
      insert into companies values ('ven_a', 'A', 'UTC', 'EUR'), ('ven_b', 'B', 'UTC', 'EUR');
      insert into companies values ('ven_e', 'Erased', 'UTC', 'EUR', now(), now());
      insert into users values ('usr_a', 'a@a.example', 'A', '$argon2id$'), ('usr_b', 'b@a.example', 'B', '$argon2id$'),
        ('usr_c', 'c@a.example', 'C', '$argon2id$');
      insert into memberships values ('ven_a', 'usr_a', 'owner'), ('ven_a', 'usr_c', 'member');
      insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
        select id, 'ven_a', 'n', '{}', ${SECRET_HASH} from unnest('{${CLIENT},${REVOKED},${REPLACED}}'::text[]) id;
      insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
        values ('${OTHERS}', 'ven_b', 'n', '{}', ${SECRET_HASH});
      ${client('scopes, replaces', `'{}', '${REPLACED}'`, REPLACING)};
      ${keyed(`'{"kty":"EC"}'`, THUMBPRINT, KEYED)};
      ${workload(`'https://i.example'`, `'{"sub":"a"}'`, WORKLOAD)};
      ${issuer({ issuer: `'https://i.example'` })};
      ${invitation({ user_id: `'usr_i'`, email: `'i@a.example'` })};
      insert into restore_fences (reason) values ('one');
      insert into services values ('svc_${'a'.repeat(22)}', 'Boost', ${SECRET_HASH}, now(), now());
      update oauth_clients set status = 'Revoked' where client_id = '${REVOKED}';
      update oauth_clients set secret_found_at = now(), secret_found_source = 'a' where client_id = '${REPLACED}';
      insert into revoked_tokens values ('jti', '${CLIENT}', now(), now());
      insert into analytics_event_ids values ('ven_a', 'seen');
    `),
  )

  for (const [what, sql, state = CHECK] of REFUSED)
    it(`refuses ${what}`, () => assert.rejects(database.owner.raw(sql), { code: state }))
})
