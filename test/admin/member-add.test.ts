import assert from 'node:assert/strict'
import { unusableHash } from '../../apps/api/accounts/passwords.ts'
import { insertUser, lockAddress } from '../../apps/api/accounts/people.ts'
import { freshAdmin, PASSWORD, refused } from '../support/admin.ts'
import { untilBlocked } from '../support/stores.ts'

describe('admin member add', () => {
  const operator = freshAdmin({ withAcme: true })

  const add = (email: string, more: string[], input = PASSWORD) =>
    operator.admin(['member', 'add', 'ven_acme', email, ...more], input)

  it('lets one of two at the same time win', async () => {
    const results = await Promise.all(
      ['admin', 'member'].map((role) => add('kim@acme.example', ['--name', 'Kim', '--role', role])),
    )
    assert.deepEqual(results.map(({ code }) => code).sort(), [0, 1])
    const lost = results.find(({ code }) => code === 1)
    // By how far the other one was.
    const known =
      /^kim@acme\.example already (belongs to ven_acme\.\n$|has an account, .* belongs to ven_acme\. )/
    assert.match(lost?.stderr ?? '', known)
  })

  it('creates no account for an address that accepts an invitation at the same time', async () => {
    const email = 'kim@acme.example'
    const accepting = await operator.db.transaction()
    await lockAddress(accepting, email, [])
    const adding = add(email, ['--name', 'Kim', '--role', 'member'])
    await Promise.race([adding, untilBlocked(operator.db)])
    await insertUser(accepting, { userId: 'usr_kim', email, name: 'Kim', passwordHash: unusableHash() })
    await accepting.commit()
    await refused(adding, /The accounts of kim@acme\.example have just changed\. Try again\./)
  })
})
