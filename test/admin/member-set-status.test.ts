import assert from 'node:assert/strict'
import { addPerson, refused, sharedAdmin } from '../support/admin.ts'

describe('admin member set-status', () => {
  const operator = sharedAdmin({ withAcme: true })
  before(async () => {
    await addPerson(operator, 'admin@acme.example', 'admin')
  })

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
    await refused(setStatus('owner', 'suspended'), /^ven_acme must have an active owner/)
  })
})
