import { strict as assert } from 'node:assert'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { sqlState } from '#shared/stores/postgres-errors.ts'
import { sharedAuth, type TestClient } from '../support/auth.ts'

const INSUFFICIENT_PRIVILEGE = '42501'
const NOT_OWNER = ['42501', '42P01']

describe('the authorization server’s database role', () => {
  const auth = sharedAuth()
  let client: TestClient
  let db: Database

  before(async () => {
    client = await auth.createClient()
    db = createPostgres({ url: auth.database.authUrl, poolSize: 2, applicationName: 'test' })
  })
  after(async () => {
    await db.destroy()
  })

  async function assertRefused(sql: string, states: string[] = [INSUFFICIENT_PRIVILEGE]): Promise<void> {
    await assert.rejects(db.raw(sql), (error) => {
      assert.ok(states.includes(sqlState(error) ?? ''), `${sql}: ${sqlState(error)}`)
      return true
    })
  }

  const READABLE: Record<string, string[]> = {
    oauth_clients: [
      'client_id',
      'vendor_id',
      'scopes',
      'secret_hash',
      'status',
      'revoked_at',
      'public_key',
      'workload_issuer',
      'workload_claims',
      'expires_at',
    ],
    workload_issuers: ['vendor_id', 'issuer', 'keys_from', 'keys', 'keys_as_of'],
    services: ['service_id', 'secret_hash', 'revoked_at'],
    revoked_tokens: ['jti', 'client_id', 'revoked_at', 'expires_at'],
    signing_keys: ['kid', 'alg', 'public_jwk', 'private_key_encrypted', 'created_at', 'activates_at'],
    revoked_signing_keys: ['kid', 'revoked_at'],
    revocation_trust: ['only_row', 'run_id', 'since', 'place', 'confirmed_at'],
    restore_fences: ['lowered_at'],
  }
  const WRITABLE = ['revoked_tokens', 'signing_keys']

  it('reads its columns and no other column of any table', async () => {
    const { rows } = await auth.db.raw(
      `select table_name as "table", column_name as "column" from information_schema.columns
       where table_schema = 'public'`,
    )
    assert.ok(rows.length > 40)
    for (const { table, column } of rows) {
      const sql = `select "${column}" from "${table}" limit 1`
      if (READABLE[table]?.includes(column)) await db.raw(sql)
      else await assertRefused(sql)
    }
  })

  it('adds keys and token revocations, and writes nothing else anywhere', async () => {
    const { rows } = await auth.db.raw(
      `select c.table_name as "table", min(c.column_name) as "column" from information_schema.columns c
       join information_schema.tables t using (table_schema, table_name)
       where table_schema = 'public' and table_type = 'BASE TABLE' group by 1`,
    )
    for (const { table, column } of rows) {
      await assertRefused(`update "${table}" set "${column}" = "${column}"`)
      await assertRefused(`delete from "${table}"`)
      await assertRefused(`truncate "${table}"`)
      if (WRITABLE.includes(table)) continue
      await assertRefused(`insert into "${table}" default values`)
    }
    await db.raw(`insert into revoked_tokens (jti, client_id, expires_at) values ('role-test', ?, now())`, [
      client.clientId,
    ])
  })

  it('cannot bring a revoked client back, nor make or change tables, roles and functions', async () => {
    await assertRefused(`update oauth_clients set status = 'Active'`)
    await assertRefused('create table mine (x int)')
    await assertRefused('create temp table mine (x int)')
    await assertRefused('select lo_create(0)')
    await assertRefused(
      `insert into revoked_tokens (jti, client_id, revoked_at, expires_at) values ('x', 'x', '2000-01-01', now())`,
    )
    await assertRefused('create role mine')
    await assertRefused('alter table oauth_clients disable trigger all', NOT_OWNER)
    await assertRefused('drop table oauth_clients', NOT_OWNER)
    await assertRefused('set role integration_api')
    await assertRefused('set session_replication_role = replica')
    await assertRefused(`copy oauth_clients to program 'cat'`)
  })
})
