import assert from 'node:assert/strict'
import knex, { type Knex } from 'knex'
import { createTestDatabase, type TestDatabase } from '../support/servers.ts'

const NOT_NULL = '23502'
const REFERENCE = '23503'
const UNIQUE = '23505'
const CHECK = '23514'

const CLIENT = `cli_${'a'.repeat(22)}`
const REVOKED = `cli_${'b'.repeat(22)}`
const SECRET_HASH = `decode(repeat('00', 32), 'hex')`
const client = (columns: string, values: string) =>
  `insert into oauth_clients (client_id, vendor_id, name, secret_hash, ${columns})
   values ('cli_${'c'.repeat(22)}', 'ven_a', 'n', ${SECRET_HASH}, ${values})`
const day = (column: string, value: string) =>
  `insert into analytics_daily (vendor_id, date, last_event_at, ${column}) values ('ven_a', '2026-01-02', now(), ${value})`
const event = (type: string, quantity: string, amount: string) =>
  `insert into analytics_events (vendor_id, event_id, type, date, occurred_at, quantity, amount_minor)
   values ('ven_a', 'e', '${type}', '2026-01-02', now(), ${quantity}, ${amount})`

const act = (values: string) =>
  `insert into activity (action, subject, vendor_id, user_id, operator) values ('a', 's', ${values})`

const REFUSED: [what: string, sql: string, state: string][] = [
  ['a second owner', `insert into memberships values ('ven_a', 'usr_b', 'owner')`, UNIQUE],
  [
    'a member who becomes a second owner',
    `update memberships set role = 'owner' where user_id = 'usr_c'`,
    UNIQUE,
  ],
  ['a suspended owner', `update memberships set status = 'suspended' where user_id = 'usr_a'`, CHECK],
  ['an unknown role', `update memberships set role = 'root' where user_id = 'usr_c'`, CHECK],
  ['a second membership of one person', `insert into memberships values ('ven_a', 'usr_c', 'admin')`, UNIQUE],
  ['a member without an account', `insert into memberships values ('ven_a', 'usr_x', 'admin')`, REFERENCE],
  [
    'two accounts of one address',
    `insert into users values ('usr_d', 'a@a.example', 'n', '$argon2id$')`,
    UNIQUE,
  ],
  ['an address in capitals', `insert into users values ('usr_d', 'D@a.example', 'n', '$argon2id$')`, CHECK],
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
  ['a password that is not hashed', `update users set password_hash = 'password'`, CHECK],
  [
    'a session token that is not hashed',
    `insert into sessions values ('token', 'usr_a', now(), now())`,
    CHECK,
  ],
  ['a scope that does not exist', client('scopes', `'{analytics:read,analytics:delete}'`), CHECK],
  ['a scope that is null', client('scopes', `'{analytics:read,null}'`), CHECK],
  ['a client whose scopes are null', client('scopes', 'null'), NOT_NULL],
  ['a client of an unknown creator', client('scopes, created_by', `'{}', 'usr_x'`), REFERENCE],
  ['an Active client with a time of revocation', client('scopes, revoked_at', `'{}', now()`), CHECK],
  ['a Revoked client without one', client('scopes, status', `'{}', 'Revoked'`), CHECK],
  [
    'a client that loses it',
    `update oauth_clients set revoked_at = null where client_id = '${REVOKED}'`,
    CHECK,
  ],
  ['a client that lives again', `update oauth_clients set status = 'Active', revoked_at = null`, CHECK],
  ['a client that becomes another company’s', `update oauth_clients set vendor_id = 'ven_b'`, CHECK],
  ['a client with more scopes', `update oauth_clients set scopes = '{boost:write}'`, CHECK],
  ['a client with another secret', `update oauth_clients set secret_hash = sha256('x')`, CHECK],
  [
    'a secret that is not hashed',
    `insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
     values ('cli_${'c'.repeat(22)}', 'ven_a', 'n', '{}', 'x')`,
    CHECK,
  ],
  ...['impressions', 'clicks', 'orders', 'units_sold', 'revenue_minor', 'boost_spend_minor'].flatMap(
    (column): [string, string, string][] => [
      [`${column} beyond 2^53 − 1`, day(column, '9007199254740992'), CHECK],
      [`${column} below 0`, day(column, '-1'), CHECK],
    ],
  ),
  ['an event of quantity 0', event('click', '0', 'null'), CHECK],
  ['a click with an amount', event('click', '1', '1'), CHECK],
  ['an order without one', event('order', '1', 'null'), CHECK],
  ['a spend with a quantity', event('boost_spend', '1', '1'), CHECK],
  ['an event a second time', `insert into analytics_event_ids values ('ven_a', 'seen')`, UNIQUE],
  ['a second row of trust', `insert into revocation_trust (only_row) values (false)`, CHECK],
  ['a token revoked twice', `insert into revoked_tokens values ('jti', '${CLIENT}', now(), now())`, UNIQUE],
  [
    'a callback without TLS',
    `insert into callback_destinations values ('ven_a', 'http://x', true, now(), 'usr_a')`,
    CHECK,
  ],
  ['an act of a person and an operator at once', act(`'ven_a', 'usr_a', 'root'`), CHECK],
  ['an act of a person that concerns no company', act(`null, 'usr_a', null`), CHECK],
  ['an act of nobody that concerns no company', act('null, null, null'), CHECK],
  ['an act of an operator without a name', act(`'ven_a', null, ''`), CHECK],
]

describe('the database, whoever asks, refuses', () => {
  let database: TestDatabase
  let owner: Knex
  before(async () => {
    database = await createTestDatabase()
    owner = knex({ client: 'pg', connection: database.ownerUrl, pool: { min: 0, max: 1 } })
    await owner.raw(`
      insert into companies values ('ven_a', 'A', 'UTC', 'EUR'), ('ven_b', 'B', 'UTC', 'EUR');
      insert into users values ('usr_a', 'a@a.example', 'A', '$argon2id$'), ('usr_b', 'b@a.example', 'B', '$argon2id$'),
        ('usr_c', 'c@a.example', 'C', '$argon2id$');
      insert into memberships values ('ven_a', 'usr_a', 'owner'), ('ven_a', 'usr_c', 'member');
      insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
        values ('${CLIENT}', 'ven_a', 'n', '{}', ${SECRET_HASH}), ('${REVOKED}', 'ven_a', 'n', '{}', ${SECRET_HASH});
      update oauth_clients set status = 'Revoked' where client_id = '${REVOKED}';
      insert into revoked_tokens values ('jti', '${CLIENT}', now(), now());
      insert into analytics_event_ids values ('ven_a', 'seen');
    `)
  })
  after(async () => {
    await owner.destroy()
    await database.drop()
  })

  for (const [what, sql, state] of REFUSED) {
    it(what, () => assert.rejects(owner.raw(sql), { code: state }))
  }
})
