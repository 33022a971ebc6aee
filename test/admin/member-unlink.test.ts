import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { lockMembers } from '../../apps/api/accounts/people.ts'
import { insertSession } from '../../apps/api/sessions/sessions.ts'
import { freshAdmin } from '../support/admin.ts'
import { untilBlocked } from '../support/stores.ts'

describe('admin member unlink', () => {
  const operator = freshAdmin({ withAcme: true })

  it('waits for a sign-in under way, and ends its session', async () => {
    const { user_id: userId } = await operator.db('users').first()
    await operator
      .db('openid_identities')
      .insert({ issuer: 'https://id.example', subject: 'x', user_id: userId })
    const signIn = await operator.db.transaction()
    await lockMembers(signIn, 'ven_acme')
    await insertSession(signIn, { tokenHash: randomBytes(32), userId, now: new Date() })
    const unlinking = operator.admin(['member', 'unlink', 'owner@acme.example'])
    const first = await Promise.race([unlinking, untilBlocked(operator.db)])
    await signIn.commit()
    assert.equal(first, true, 'it did not wait')
    assert.equal((await unlinking).code, 0)
    assert.deepEqual(await operator.db('sessions'), [])
  })
})
