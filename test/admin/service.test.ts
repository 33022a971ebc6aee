import assert from 'node:assert/strict'
import { hashSecret } from '#shared/oauth/ids.ts'
import { sharedAdmin, succeeded } from '../support/admin.ts'

describe('admin service', () => {
  const operator = sharedAdmin()

  const entries = () => operator.db('activity').orderBy('entry_id')

  it('shows a new service’s secret once and stores only its hash', async () => {
    const { stdout, stderr } = await succeeded(
      operator.admin(['--as', 'Ada', 'service', 'create', '--name', 'Boost']),
    )
    const [, id = '', secret = ''] =
      /^Service ID: (svc_[0-9A-Za-z]{22})\nService secret: (ias_[0-9A-Za-z]{49})\n$/.exec(stdout) ?? []
    const [row] = await operator.db('services')
    assert.equal(row.service_id, id)
    assert.deepEqual(row.secret_hash, hashSecret(secret))
    const listed = await operator.admin(['services', 'list'])
    assert.match(
      listed.stdout,
      new RegExp(`^SERVICE ID +NAME +CREATED +REVOKED\n${id} +Boost +\\S+ \\S+ +-\n$`),
    )
    assert.ok(![stderr, listed.stdout, JSON.stringify(await entries())].some((text) => text.includes(secret)))
    const [{ vendor_id, operator: by, action, subject, detail }] = await entries()
    assert.deepEqual(
      { vendor_id, by, action, subject, detail },
      { vendor_id: null, by: 'Ada', action: 'service.created', subject: id, detail: { name: 'Boost' } },
    )
    assert.match(stderr, /"event":"activity".*"action":"service\.created"/)
  })

  it('revokes a service finally, and records it once', async () => {
    const { json: made } = await operator.admin(['service', 'create', '--name', 'Catalog', '--json'])
    const first = await operator.admin(['service', 'revoke', made.serviceId, '--yes', '--json'])
    assert.equal(first.code, 0, first.stderr)
    const again = await operator.admin(['service', 'revoke', made.serviceId, '--yes', '--json'])
    assert.ok(first.json.revokedAt)
    assert.deepEqual(again.json, first.json)
    const acts = (await entries()).filter(({ subject }) => subject === made.serviceId)
    assert.deepEqual(
      acts.map(({ action }) => action),
      ['service.created', 'service.revoked'],
    )
  })

  it('refuses to revoke an id that no service has', async () => {
    const { code, stderr } = await operator.admin(['service', 'revoke', 'svc_nobody'])
    assert.deepEqual([code, stderr], [1, 'There is no service svc_nobody.\n'])
  })

  for (const [name, sentence] of [
    ['', 'The name must have 1 to 100 characters.\n'],
    ['x'.repeat(101), 'The name must have 1 to 100 characters.\n'],
    ['a\u202Eb', 'The name must be one line of plain text without invisible characters.\n'],
  ] as const)
    it(`refuses a service’s name ${JSON.stringify(name.slice(0, 5))} of ${name.length} characters`, async () => {
      const before = await operator.db('services')
      const { code, stderr } = await operator.admin(['service', 'create', '--name', name])
      assert.deepEqual([code, stderr], [1, sentence])
      assert.deepEqual(await operator.db('services'), before)
    })
})
