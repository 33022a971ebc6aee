import assert from 'node:assert/strict'
import { addPerson, createAcme, startAdmin, type TestAdmin } from '../support/admin.ts'

describe('admin member set-status', () => {
  let operator: TestAdmin
  before(async () => {
    operator = await startAdmin()
    await createAcme(operator)
    await addPerson(operator, 'admin@acme.example', 'admin')
  })
  after(() => operator.stop())

  const setStatus = (who: string, status: string) =>
    operator.admin(['member', 'set-status', 'ven_acme', `${who}@acme.example`, status])
  const status = async () => (await operator.db('memberships').where({ role: 'admin' }).first()).status

  it('suspends an admin, and makes the admin active again', async () => {
    const { code, stdout } = await setStatus('admin', 'suspended')
    assert.equal(code, 0)
    assert.equal(stdout, 'admin@acme.example is now suspended in ven_acme.\n')
    assert.equal(await status(), 'suspended')
    assert.equal((await setStatus('admin', 'active')).code, 0)
    assert.equal(await status(), 'active')
  })

  it('does not suspend the owner', async () => {
    const { code, stderr } = await setStatus('owner', 'suspended')
    assert.equal(code, 1)
    assert.match(stderr, /^ven_acme must have an active owner/)
  })

  it('refuses an unknown status', async () => {
    const { code, stderr } = await setStatus('admin', 'tired')
    assert.equal(code, 64)
    assert.match(stderr, /Allowed choices are active, suspended/)
  })
})
