import assert from 'node:assert/strict'
import { newUserId } from '../../apps/api/accounts/new-ids.ts'
import { unusableHash } from '../../apps/api/accounts/passwords.ts'
import { insertUser } from '../../apps/api/accounts/people.ts'
import { freshAdmin, PASSWORD, refused, succeeded } from '../support/admin.ts'

describe('admin member add', () => {
  const operator = freshAdmin({ withAcme: true })

  const add = (email: string, more: string[], input = PASSWORD) =>
    operator.admin(['member', 'add', 'ven_acme', email, ...more], input)

  for (const role of ['admin', 'viewer', 'member'])
    it(`adds a new person as ${role}`, async () => {
      const { stdout } = await succeeded(add('Kim@Acme.example', ['--name', 'Kim', '--role', role]))
      assert.equal(stdout, `kim@acme.example was added to ven_acme with the role ${role}.\n`)
      const { stdout: list } = await operator.admin(['member', 'list', 'ven_acme'])
      assert.match(list, new RegExp(`kim@acme.example +Kim +${role} +active`))
      const { user_id } = await operator.db('users').where({ email: 'kim@acme.example' }).first('user_id')
      const entry = await operator.db('activity').where({ subject: user_id }).first()
      assert.deepEqual([entry.vendor_id, entry.user_id, entry.action], ['ven_acme', null, 'person.added'])
      assert.deepEqual(entry.detail, { name: 'Kim', email: 'kim@acme.example', role })
    })

  it('adds someone who has an account, without asking for a password', async () => {
    const [userId, email] = [newUserId(), 'else@other.example']
    await insertUser(operator.db, { userId, email, name: 'Else', passwordHash: unusableHash() })
    await refused(add(email, ['--role', 'member'], ''), /already has an account.*--existing-account/)
    await succeeded(add(email, ['--role', 'member', '--existing-account'], ''))
  })

  it('refuses someone who belongs to the company already, and leaves the role', async () => {
    const adding = add('owner@acme.example', ['--role', 'member'])
    await refused(adding, 'owner@acme.example already belongs to ven_acme.\n')
    assert.equal((await operator.db('memberships').first()).role, 'owner')
    const entries = await operator.db('activity').select('action').orderBy('entry_id')
    assert.deepEqual(entries, [{ action: 'company.created' }, { action: 'person.added' }])
  })

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
})
