import assert from 'node:assert/strict'
import { lockMembers } from '../../apps/api/accounts/people.ts'
import { addPerson, freshAdmin, refused, succeeded } from '../support/admin.ts'
import { eventually } from '../support/eventually.ts'

describe('admin member set-role', () => {
  const operator = freshAdmin({ withAcme: true })
  beforeEach(async () => {
    await addPerson(operator, 'admin@acme.example', 'admin')
    await addPerson(operator, 'member@acme.example', 'member')
  })

  const setRole = (who: string, role: string) =>
    operator.admin(['member', 'set-role', 'ven_acme', `${who}@acme.example`, role])
  async function roles(): Promise<Record<string, string>> {
    const { rows } = await operator.db.raw('select email, role from memberships join users using (user_id)')
    return Object.fromEntries(
      rows.map(({ email, role }: { email: string; role: string }) => [email.split('@')[0], role]),
    )
  }

  it('makes a member an admin, and an admin a viewer and a member', async () => {
    assert.equal((await setRole('member', 'admin')).code, 0)
    assert.equal((await setRole('admin', 'viewer')).code, 0)
    assert.deepEqual(await roles(), { owner: 'owner', member: 'admin', admin: 'viewer' })
    assert.equal((await setRole('admin', 'member')).code, 0)
    assert.deepEqual(await roles(), { owner: 'owner', member: 'admin', admin: 'member' })
  })

  it('hands the company over: the owner becomes an admin', async () => {
    const { stdout } = await succeeded(setRole('member', 'owner'))
    assert.equal(
      stdout,
      'member@acme.example now has the role owner in ven_acme. owner@acme.example is now an admin.\n',
    )
    assert.deepEqual(await roles(), { owner: 'admin', member: 'owner', admin: 'admin' })
  })

  it('leaves an activity entry by an operator for each person that it changes', async () => {
    await setRole('member', 'owner')
    const { rows } = await operator.db.raw(
      `select a.user_id as by, a.action, u.email, a.detail -> 'after' ->> 'role' as role
       from activity a join users u on u.user_id = a.subject where a.action = 'person.changed' order by entry_id`,
    )
    assert.deepEqual(rows, [
      { by: null, action: 'person.changed', email: 'owner@acme.example', role: 'admin' },
      { by: null, action: 'person.changed', email: 'member@acme.example', role: 'owner' },
    ])
  })

  it('waits for another change of the company’s people', async () => {
    const other = await operator.db.transaction()
    await lockMembers(other, 'ven_acme')
    let ended = false
    const change = setRole('member', 'admin').finally(() => {
      ended = true
    })
    const waits = async () =>
      (
        await operator.db.raw(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).rowCount > 0
    await eventually(async () => ended || (await waits()))
    assert.equal(ended, false)
    assert.deepEqual(await roles(), { owner: 'owner', admin: 'admin', member: 'member' })
    await other.commit()
    assert.equal((await change).code, 0)
    assert.equal((await roles()).member, 'admin')
  })

  it('does not leave a company without an owner', async () => {
    await refused(setRole('owner', 'member'), /^ven_acme must have an active owner/)
  })

  it('leaves a suspended person suspended, and does not make one the owner', async () => {
    await operator.admin(['member', 'set-status', 'ven_acme', 'admin@acme.example', 'suspended'])
    await refused(setRole('admin', 'owner'), /^ven_acme must have an active owner/)
    await succeeded(setRole('admin', 'viewer'))
    const viewer = await operator.db('memberships').where({ role: 'viewer' }).first()
    assert.equal(viewer.status, 'suspended')
  })

  it('refuses someone who does not belong to the company', async () => {
    await refused(setRole('nobody', 'admin'), 'nobody@acme.example does not belong to ven_acme.\n')
  })
})
