import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { indexOfPassword } from '../../apps/api/accounts/passwords.ts'
import { insertSession } from '../../apps/api/sessions/sessions.ts'
import { freshAdmin, PASSWORD, refused, succeeded } from '../support/admin.ts'

const NEW = 'another, longer password'

describe('admin password reset', () => {
  const operator = freshAdmin({ withAcme: true })

  const reset = (password: string | Buffer, email = 'owner@acme.example') =>
    operator.admin(['password', 'reset', email], password)
  const stored = async () => (await operator.db('users').first()).password_hash

  it('takes the password from a pipe and ends every session of the user', async () => {
    const { user_id } = await operator.db('users').first()
    await insertSession(operator.db, { tokenHash: randomBytes(32), userId: user_id, now: new Date() })
    const { stdout } = await succeeded(reset(`${NEW}\n`, 'OWNER@acme.example'))
    assert.equal(stdout, 'owner@acme.example has a new password; all sessions were ended.\n')
    assert.equal(await indexOfPassword(NEW, [await stored()]), 0)
    assert.deepEqual(await operator.db('sessions'), [])
    const [mail] = await operator.db('mails')
    assert.deepEqual([mail.kind, mail.user_id, mail.detail.by], ['password_changed', user_id, 'operator'])
  })

  it('keeps the salt, which the accounts of one address share', async () => {
    const readSalt = (hash: string) => hash.split('$')[4]
    const before = await stored()
    await reset(NEW)
    assert.equal(readSalt(await stored()), readSalt(before))
    assert.notEqual(await stored(), before)
  })

  it('keeps spaces and every character but the end of the line', async () => {
    await reset('  spaced pässword  \r\n')
    assert.equal(await indexOfPassword('  spaced pässword  ', [await stored()]), 0)
  })

  for (const [password, sentence] of [
    ['🔒'.repeat(11), /^The password must have at least 12 characters\. Nothing was changed\.$/m],
    ['a'.repeat(3_000), /^A password can have at most 1024 bytes\. Nothing was changed\.$/m],
    ['a'.repeat(1_025), /^A password can have at most 1024 bytes\. Nothing was changed\.$/m],
    [`${NEW}\n${NEW}\n`, /^A password is one line, without control characters\. Nothing was changed\.$/m],
    [`${NEW}\0`, /^A password is one line, without control characters\. Nothing was changed\.$/m],
    [Buffer.from(`${NEW}é`, 'latin1'), /^The password is not UTF-8\. Nothing was changed\.$/m],
  ] as const)
    it(`refuses ${JSON.stringify(`${password}`.slice(0, 60))}, ${password.length} long, and changes nothing`, async () => {
      await refused(reset(password), sentence)
      assert.equal(await indexOfPassword(PASSWORD, [await stored()]), 0)
    })
})
