import assert from 'node:assert/strict'
import { hashSecret } from '#shared/oauth/ids.ts'
import { refused, sharedAdmin, succeeded } from '../support/admin.ts'

describe('admin service', () => {
  const operator = sharedAdmin()

  const entries = () => operator.db('activity').orderBy('entry_id')

  it('shows a new service’s secret once and stores only its hash', async () => {
    const creating = operator.admin(['--as', 'Ada', 'service', 'create', '--name', 'Boost'])
    const { stdout, stderr } = await succeeded(creating)
    const [, id = '', secret = ''] =
      /^Service ID: (svc_[0-9A-Za-z]{22})\nService secret: (ias_[0-9A-Za-z]{49})\n$/.exec(stdout) ?? []
    const [row] = await operator.db('services')
    assert.equal(row.service_id, id)
    assert.deepEqual(row.secret_hash, hashSecret(secret))
    const { stdout: list } = await operator.admin(['services', 'list'])
    assert.match(list, new RegExp(`^SERVICE ID +NAME +CREATED +REVOKED\n${id} +Boost +\\S+ \\S+ +-\n$`))
    assert.ok(![stderr, list, JSON.stringify(await entries())].some((text) => text.includes(secret)))
    const [{ vendor_id, operator: by, action, subject, detail }] = await entries()
    assert.deepEqual([vendor_id, by, action, subject], [null, 'Ada', 'service.created', id])
    assert.deepEqual(detail, { name: 'Boost' })
    assert.match(stderr, /"event":"activity".*"action":"service\.created"/)
  })

  it('revokes a service finally, and records it once', async () => {
    const { json: made } = await operator.admin(['service', 'create', '--name', 'Catalog', '--json'])
    const revoke = () => succeeded(operator.admin(['service', 'revoke', made.serviceId, '--yes', '--json']))
    const { json } = await revoke()
    assert.ok(json.revokedAt)
    assert.deepEqual((await revoke()).json, json)
    const actions = await entries().where({ subject: made.serviceId }).pluck('action')
    assert.deepEqual(actions, ['service.created', 'service.revoked'])
    assert.equal((await operator.admin(['service', 'list', '--json'])).json[0].name, 'Catalog')
  })

  for (const [name, sentence] of [
    ['', 'The name must have 1 to 100 characters.\n'],
    ['x'.repeat(101), 'The name must have 1 to 100 characters.\n'],
    ['a\u202Eb', 'The name must be one line of plain text without invisible characters.\n'],
  ] as const)
    it(`refuses a service’s name ${JSON.stringify(name.slice(0, 5))} of ${name.length} characters`, async () => {
      const before = await operator.db('services')
      await refused(operator.admin(['service', 'create', '--name', name]), sentence)
      assert.deepEqual(await operator.db('services'), before)
    })
})
