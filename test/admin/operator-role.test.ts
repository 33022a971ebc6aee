import assert from 'node:assert/strict'
import knex, { type Knex } from 'knex'
import {
  type AdminResult,
  createAcme,
  PASSWORD,
  runAdmin,
  startAdmin,
  type TestAdmin,
} from '../support/admin.ts'
import { createClient, type TestClient } from '../support/auth.ts'

const DENIED = /permission denied|must be owner/
const PERMANENT = /revoked permanently|can only be renamed or revoked/
const UNRECORDED = /no entry of the activity says/
const NOT_ERASED = /ven_acme is not being erased/

describe('the role integration_operator', () => {
  let operator: TestAdmin
  let role: Knex
  let client: TestClient
  before(async () => {
    operator = await startAdmin({ withRedis: true })
    await createAcme(operator)
    client = await createClient(operator.db, { vendorId: 'ven_acme' })
    role = knex({ client: 'pg', connection: operator.database.operatorUrl, pool: { min: 0, max: 1 } })
    await succeeds(operator.admin(['client', 'revoke', 'ven_acme', client.clientId, '--yes']))
    const { json } = await succeeds(operator.admin(['service', 'create', '--name', 'Boost', '--json']))
    await succeeds(operator.admin(['service', 'revoke', json.serviceId, '--yes']))
  })
  after(async () => {
    await role.destroy()
    await operator.stop()
  })

  async function succeeds(running: Promise<AdminResult>): Promise<AdminResult> {
    const result = await running
    assert.equal(result.code, 0, result.stderr)
    return result
  }

  for (const [what, sql, refusal] of [
    ['drops a table', 'drop table sessions', DENIED],
    ['empties a table', 'truncate activity', DENIED],
    ['creates a table', 'create table mine (x int)', DENIED],
    ['switches a trigger off', 'alter table oauth_clients disable trigger all', DENIED],
    ['skips all triggers', 'set session_replication_role = replica', DENIED],
    ['becomes a service', 'set role integration_api', DENIED],
    [
      'gives itself a right',
      'grant all on activity to integration_operator',
      /permission denied|no privileges/,
    ],
    ['changes an entry of the activity', "update activity set operator = 'Eve'", DENIED],
    ['removes an entry of the activity', 'delete from activity', DENIED],
    [
      'dates an entry',
      "insert into activity (vendor_id, action, subject, at) values ('ven_acme', 'x', 'x', now())",
      DENIED,
    ],
    [
      'writes an entry in the name of a person',
      "insert into activity (vendor_id, action, subject, user_id) select 'ven_acme', 'client.created', 'x', user_id from users",
      DENIED,
    ],
    ['allows a revoked client again', "update oauth_clients set status = 'Active'", PERMANENT],
    ['dates the revocation of a client', 'update oauth_clients set revoked_at = now()', DENIED],
    ['widens a client', "update oauth_clients set scopes = '{}'", DENIED],
    ['removes a client', 'delete from oauth_clients', DENIED],
    ['reads the hash of a client’s secret', 'select secret_hash from oauth_clients', DENIED],
    ['reads the hash of a service’s secret', 'select secret_hash from services', DENIED],
    ['allows a revoked service again', 'update services set revoked_at = null', PERMANENT],
    ['dates the revocation of a service', 'update services set revoked_at = now()', PERMANENT],
    ['allows a revoked signing key again', 'delete from revoked_signing_keys', DENIED],
    ['exchanges a public key', "update signing_keys set public_jwk = '{}'", DENIED],
    ['allows a revoked token again', 'delete from revoked_tokens', DENIED],
    ['removes a fence', 'delete from restore_fences', DENIED],
    ['reads the hash of a session’s token', 'select token_hash from sessions', DENIED],
    [
      'begins a session',
      "insert into sessions (token_hash, user_id, created_at, expires_at) select sha256('x'), user_id, now(), now() from users",
      DENIED,
    ],
    ['reads the hash of an invitation’s token', 'select token_hash from invitations', DENIED],
    ['reads the key of sign-in cookies', 'select key from openid_cookie_key', DENIED],
    ['links an account to a provider', "insert into openid_identities values ('x', 'x', 'usr_x')", DENIED],
    ['removes a membership', 'delete from memberships', DENIED],
    ['says that a company is erased', 'update companies set erased_at = now()', DENIED],
    ['erases a person of whom no entry says so', "select erase_person('usr_x', '$argon2id$')", UNRECORDED],
    ['erases a company of which no entry says so', "select erase_company('ven_acme')", UNRECORDED],
    [
      'deletes the data of a company that is there',
      "select erase_company_rows('ven_acme', 'invitations', 1)",
      NOT_ERASED,
    ],
    [
      'deletes the events of a company that is there',
      "select erase_analytics_events('ven_acme', 'analytics_events_default', 0, 1)",
      NOT_ERASED,
    ],
    ['sees where callbacks go', 'select * from callback_destinations', DENIED],
  ] as const)
    it(`is refused if it ${what}`, async () => {
      await assert.rejects(async () => role.raw(sql), { message: refusal })
    })

  describe('without KEY_ENCRYPTION_KEY', () => {
    const unreadable = { KEY_ENCRYPTION_KEY_FILE: '/nonexistent/key-encryption-key' }

    const run = (
      args: string[],
      { env = {}, input }: { env?: Record<string, string>; input?: string } = {},
    ) => {
      const { KEY_ENCRYPTION_KEY: _key, ...stores } = operator.env as Record<string, string>
      return runAdmin(args, { env: { ...stores, ...env }, input })
    }

    for (const [args, input] of [
      [['company', 'list']],
      [
        [
          'company',
          'create',
          ...'--vendor-id ven_b --name B --timezone UTC --currency EUR'.split(' '),
          ...'--owner-email b@b.example --owner-name B'.split(' '),
        ],
        PASSWORD,
      ],
      [['member', 'list', 'ven_acme']],
      [['password', 'reset', 'owner@acme.example'], `${PASSWORD} again`],
      [['client', 'list', 'ven_acme']],
      [['service', 'list']],
      [['key', 'list']],
      [['restore', 'status']],
      [['restore', 'confirm']],
    ] as [string[], string?][])
      it(`runs "${args.slice(0, 2).join(' ')}", and does not look for the key`, async () => {
        await succeeds(run(args, { env: unreadable, ...(input && { input }) }))
      })

    for (const command of ['rotate', 'reencrypt']) {
      it(`refuses "key ${command}", and says what is missing`, async () => {
        const { code, stderr } = await run(['key', command])
        assert.equal(code, 1)
        assert.match(stderr, /^Set KEY_ENCRYPTION_KEY too/)
      })

      it(`exits with 78 from "key ${command}" if the file of the key cannot be read`, async () => {
        const { code, stderr } = await run(['key', command], { env: unreadable })
        assert.equal(code, 78)
        assert.match(stderr, /KEY_ENCRYPTION_KEY_FILE: no such file or directory/)
      })
    }
  })
})
