import assert from 'node:assert/strict'
import type { Knex } from 'knex'
import { openOperatorAccess, operatorStores } from '../../infra/admin/operator.ts'
import { refused, runAdmin, sharedAdmin, succeeded } from '../support/admin.ts'
import { afterwards } from '../support/block.ts'
import { find, read } from '../support/project.ts'

const UNRECORDED = /no entry of the activity says/
const NOT_ERASED = /ven_acme is not being erased/
const erasing = (table: string) => `select erase_company_rows('ven_acme', '${table}', 1)`

describe('the role integration_operator', () => {
  const operator = sharedAdmin({ withRedis: true, withAcme: true })
  let role: Knex
  before(() => {
    role = operator.database.connect('operator')
  })

  it('has 10 s to connect and 30 s for a statement, in which no request waits for it', async () => {
    const stores = await operatorStores({ DATABASE_URL: operator.database.operatorUrl })
    const access = openOperatorAccess(stores)
    await using _ = afterwards(() => access.close())
    const { rows } = await access.db.raw('show statement_timeout')
    assert.deepEqual(rows, [{ statement_timeout: '30s' }])
    assert.equal(access.db.client.pool.acquireTimeoutMillis, 10_000)
  })

  for (const [what, sql, refusal] of [
    ['erases a person of whom no entry says so', "select erase_person('usr_x', '$argon2id$')", UNRECORDED],
    ['erases a company of which no entry says so', "select erase_company('ven_acme')", UNRECORDED],
    ['deletes the data of a company that is there', erasing('invitations'), NOT_ERASED],
    ['deletes the events of a company that is there', erasing('analytics_events_default'), NOT_ERASED],
  ] as const)
    it(`is refused if it ${what}`, () => assert.rejects(async () => role.raw(sql), { message: refusal }))

  it('runs the queries of the runbook', async () => {
    const pages = find('infra/runbook/*.md').map(read)
    const queries = pages.flatMap((page) => [...page.matchAll(/([^`]*)`(select [^`]+ from [^`]+)`/g)])
    assert.equal(queries.length, 2)
    for (const [, before = '', query = ''] of queries)
      await (/As the owner/.test(before) ? operator.db : role).raw(query)
  })

  describe('without KEY_ENCRYPTION_KEY', () => {
    const unreadable = { KEY_ENCRYPTION_KEY_FILE: '/nonexistent/key-encryption-key' }

    const run = (args: string[], env: Record<string, string> = {}) => {
      const { KEY_ENCRYPTION_KEY: _key, ...stores } = operator.env as Record<string, string>
      return runAdmin(args, { env: { ...stores, ...env } })
    }

    for (const command of ['company list', 'client list ven_acme', 'key list', 'restore confirm'])
      it(`runs "${command}", and does not look for the key`, () =>
        succeeded(run(command.split(' '), unreadable)))

    for (const command of ['rotate', 'reencrypt']) {
      it(`refuses "key ${command}", and says what is missing`, () =>
        refused(run(['key', command]), /^Set KEY_ENCRYPTION_KEY too/))

      it(`exits with 78 from "key ${command}" if the file of the key cannot be read`, () =>
        refused(run(['key', command], unreadable), /KEY_ENCRYPTION_KEY_FILE: no such file or directory/, 78))
    }
  })
})
