import assert from 'node:assert/strict'
import { lockMembers } from '../../apps/api/accounts/people.ts'
import { addPerson, freshAdmin, refused, succeeded } from '../support/admin.ts'
import { untilBlocked } from '../support/stores.ts'

describe('admin member set-role', () => {
  const operator = freshAdmin({ withAcme: true })
  beforeEach(async () => {
    await addPerson(operator, 'admin@acme.example', 'admin')
    await addPerson(operator, 'member@acme.example', 'member')
  })

  const setRole = (who: string, role: string) =>
    operator.admin(['member', 'set-role', 'ven_acme', `${who}@acme.example`, role])
  async function roles(): Promise<Record<string, string>> {
    const members = await operator.db('memberships').join('users', 'users.user_id', 'memberships.user_id')
    return Object.fromEntries(members.map(({ email, role }) => [email.split('@')[0], role]))
  }

  it('makes a member an admin, and an admin a viewer and a member', async () => {
    assert.equal((await setRole('member', 'admin')).code, 0)
    assert.equal((await setRole('admin', 'viewer')).code, 0)
    assert.deepEqual(await roles(), { owner: 'owner', member: 'admin', admin: 'viewer' })
    assert.equal((await setRole('admin', 'member')).code, 0)
    assert.deepEqual(await roles(), { owner: 'owner', member: 'admin', admin: 'member' })
  })

  it('waits for another change of the company’s people', async () => {
    const other = await operator.db.transaction()
    await lockMembers(other, 'ven_acme')
    const change = setRole('member', 'admin')
    assert.equal(await Promise.race([change, untilBlocked(operator.db)]), true, 'it did not wait')
    assert.deepEqual(await roles(), { owner: 'owner', admin: 'admin', member: 'member' })
    await other.commit()
    assert.equal((await change).code, 0)
    assert.equal((await roles()).member, 'admin')
  })

  it('leaves a suspended person suspended, and does not make one the owner', async () => {
    await operator.admin(['member', 'set-status', 'ven_acme', 'admin@acme.example', 'suspended'])
    await refused(setRole('admin', 'owner'), /^ven_acme must have an active owner/)
    await succeeded(setRole('admin', 'viewer'))
    const viewers = operator.db('memberships').where({ role: 'viewer' })
    assert.deepEqual(await viewers.pluck('status'), ['suspended'])
  })
})
