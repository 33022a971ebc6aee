import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Queryable } from '#shared/stores/postgres.ts'
import { unusableHash } from '../../apps/api/accounts/passwords.ts'
import {
  insertUser,
  listAccounts,
  lockAddress,
  lockMembers,
  savePassword,
} from '../../apps/api/accounts/people.ts'
import { insertSession } from '../../apps/api/sessions/sessions.ts'
import { addPerson, freshAdmin, PASSWORD, refused } from '../support/admin.ts'
import { untilBlocked } from '../support/stores.ts'

const KIM = 'kim@acme.example'

describe('admin member, person', () => {
  const operator = freshAdmin({ withAcme: true })

  const add = (option: string) =>
    operator.admin(['member', 'add', 'ven_acme', KIM, '--role', 'member', option], PASSWORD)

  it('add lets one of two at the same time win', async () => {
    const results = await Promise.all([1, 2].map(() => add('--name=Kim')))
    assert.deepEqual(results.map(({ code }) => code).sort(), [0, 1])
    const lost = results.find(({ code }) => code === 1)
    // By how far the other one was.
    const known =
      /^kim@acme\.example already (belongs to ven_acme\.\n$|has an account, .* belongs to ven_acme\. )/
    assert.match(lost?.stderr ?? '', known)
  })

  const kim = (userId = 'usr_kim') => ({ userId, email: KIM, name: 'Kim', passwordHash: unusableHash() })
  const insertKim = (db: Queryable) => insertUser(db, kim())
  const insertAnother = async (other: Queryable) => {
    await lockAddress(other, KIM, await listAccounts(other, KIM))
    await insertUser(other, kim('usr_another'))
  }
  const reset = () => operator.admin(['password', 'reset', KIM], PASSWORD)
  for (const [what, before, run, change] of [
    [
      'add creates no account for an address that gets one',
      async () => {},
      () => add('--name=Kim'),
      insertAnother,
    ],
    ['reset sets no password for an address that gets another account', insertKim, reset, insertAnother],
    [
      'add uses no account whose password changes',
      insertKim,
      () => add('--existing-account'),
      (other: Queryable) => savePassword(other, kim()),
    ],
  ] as const)
    it(`${what} at the same time`, async () => {
      await before(operator.db)
      const other = await operator.db.transaction()
      await change(other)
      const setting = run()
      await Promise.race([setting, untilBlocked(operator.db)])
      await other.commit()
      await refused(setting, /The accounts of kim@acme\.example have just changed\. Try again\./)
      assert.equal((await operator.db('memberships')).length, 1)
    })

  for (const command of [
    `member set-role ven_acme ${KIM} admin`,
    `member set-status ven_acme ${KIM} suspended`,
    `person erase ${KIM} --yes`,
  ])
    it(`waits for another change of the company’s people: ${command}`, async () => {
      await addPerson(operator, KIM, 'member')
      const memberships = async () => operator.db('memberships').orderBy('user_id')
      const before = await memberships()
      const other = await operator.db.transaction()
      await lockMembers(other, 'ven_acme')
      const change = operator.admin(command.split(' '))
      const first = await Promise.race([change, untilBlocked(operator.db)])
      const meanwhile = await memberships()
      await other.commit()
      assert.deepEqual([first, meanwhile], [true, before], 'it did not wait')
      assert.equal((await change).code, 0)
      assert.notDeepEqual(await memberships(), before)
    })

  it('unlink waits for a sign-in under way, and ends its session', async () => {
    const { user_id: userId } = await operator.db('users').first()
    const identity = { issuer: 'https://id.example', subject: 'x', user_id: userId }
    await operator.db('openid_identities').insert(identity)
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
