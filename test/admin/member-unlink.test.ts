import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { insertSession } from '../../apps/api/sessions/sessions.ts'
import { addPerson, sharedAdmin, succeeded } from '../support/admin.ts'

describe('admin member unlink', () => {
  const operator = sharedAdmin({ withAcme: true })
  before(async () => {
    await addPerson(operator, 'admin@acme.example', 'admin')
    const users = await operator.db('users')
    for (const { user_id, email } of users) {
      await operator.db('openid_identities').insert({ issuer: 'https://login.test', subject: email, user_id })
      await insertSession(operator.db, { tokenHash: randomBytes(32), userId: user_id, now: new Date() })
    }
  })

  const unlink = (email: string) => operator.admin(['member', 'unlink', email])

  it('ends the sessions and the provider link of one person', async () => {
    const { stdout } = await succeeded(unlink('ADMIN@acme.example'))
    assert.equal(stdout, 'admin@acme.example was unlinked; all sessions were ended.\n')
    const owner = await operator.db('users').where({ email: 'owner@acme.example' }).first()
    for (const table of ['openid_identities', 'sessions'])
      assert.deepEqual(await operator.db(table).pluck('user_id'), [owner.user_id], table)
    const [{ user_id, vendor_id, detail }] = await operator
      .db('activity')
      .where({ action: 'person.unlinked' })
    assert.deepEqual([user_id, vendor_id, detail.email], [null, 'ven_acme', 'admin@acme.example'])
  })

  it('ends an account that belongs to no company', async () => {
    await addPerson(operator, 'left@acme.example', 'member')
    const { user_id } = await operator.db('users').where({ email: 'left@acme.example' }).first()
    await operator.db('openid_identities').insert({ issuer: 'https://login.test', subject: 'left', user_id })
    await operator.db('memberships').where({ user_id }).delete()
    await succeeded(unlink('left@acme.example'))
    assert.equal((await operator.db('users').where({ user_id }).first()).email, null)
  })
})
