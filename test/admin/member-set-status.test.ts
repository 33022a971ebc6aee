import assert from 'node:assert/strict'
import { addPerson, sharedAdmin, succeeded } from '../support/admin.ts'

describe('admin member set-status', () => {
  const operator = sharedAdmin({ withAcme: true })
  before(() => addPerson(operator, 'admin@acme.example', 'admin'))

  const setStatus = (who: string, status: string) =>
    operator.admin(['member', 'set-status', 'ven_acme', `${who}@acme.example`, status])
  const status = async () => (await operator.db('memberships').where({ role: 'admin' }).first()).status

  it('suspends an admin, and makes the admin active again', async () => {
    const { stdout } = await succeeded(setStatus('admin', 'suspended'))
    assert.equal(stdout, 'admin@acme.example is now suspended in ven_acme.\n')
    assert.equal(await status(), 'suspended')
    await succeeded(setStatus('admin', 'active'))
    assert.equal(await status(), 'active')
  })
})
