import assert from 'node:assert/strict'
import { freshAdmin, PASSWORD } from '../support/admin.ts'

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
})
