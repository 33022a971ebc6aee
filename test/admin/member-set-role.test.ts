import assert from 'node:assert/strict'
import { lockMembers } from '../../apps/api/accounts/people.ts'
import { addPerson, freshAdmin } from '../support/admin.ts'
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
})
