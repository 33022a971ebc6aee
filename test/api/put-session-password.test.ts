import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { isCommonPassword } from '../../apps/api/sessions/common-passwords.ts'
import { passwordFault } from '../../apps/api/sessions/guessable-passwords.ts'
import { sharedApi, startApi, TEST_PASSWORD } from '../support/api.ts'
import { forEachTest } from '../support/block.ts'
import { assertStatuses } from '../support/problem.ts'
import { threadCpu_ms } from '../support/thread-cpu.ts'

const NEW_PASSWORD = 'wrong donkey capacitor nail'

describe('PUT /v1/session/password', () => {
  const api = sharedApi()
  const person = forEachTest(() => api.createOwner({ name: 'Acme Outfitters' }))

  const change = (newPassword: unknown, currentPassword: unknown = TEST_PASSWORD, at = api) =>
    at.request('PUT', '/v1/session/password', {
      token: person.sessionToken,
      body: { currentPassword, newPassword },
    })

  it('limits guesses at the current password', async () => {
    await using limited = await startApi({ beside: api, env: { RATE_SIGN_IN_PER_ACCOUNT: '2/60' } })
    const guess = (current = 'a wrong password') => change(NEW_PASSWORD, current, limited)
    assertStatuses([await guess(), await guess(), await guess(TEST_PASSWORD)], 422, 422, 429)
  })

  it('changes it three times an hour, since each change is mailed to the address', async () => {
    assertStatuses([await change(TEST_PASSWORD)], 422)
    const passwords = [TEST_PASSWORD, ...[1, 2, 3, 4].map((count) => `${NEW_PASSWORD} ${count}`)]
    for (const [index, status] of [204, 204, 204, 429].entries())
      assert.equal((await change(passwords[index + 1], passwords[index])).status, status)
  })

  it('sets one of two passwords chosen at once', async () => {
    const statuses = await Promise.all(
      [NEW_PASSWORD, `${NEW_PASSWORD} too`].map(async (password) => (await change(password)).status),
    )
    assert.deepEqual(statuses.sort(), [204, 422])
  })
})

describe('a new password', () => {
  const ABOUT = ['kim.robertson@people.example', 'Kim Robertson', 'Acme Outfitters']

  for (const password of [
    ...['password1234', 'Summer2024!!', '!!!iloveyou!!!', 'qwertyuiop[]', 'ｐａｓｓｗｏｒｄ１２３４'],
    ...['abcabcabcabc', 'abcdefghijklm', '😀'.repeat(12), 'kim.robertson', 'acme outfitters!'],
    ...['integration access', 'acme robertson acme acme'],
  ])
    it(`refuses the password ${password}`, () =>
      assert.equal(typeof passwordFault(password, ABOUT), 'string'))

  for (const password of [TEST_PASSWORD, NEW_PASSWORD, 'Tr0ub4dor&3xyz', 'fjord-vexing-quiz'])
    it(`accepts the password ${password}`, () => assert.equal(passwordFault(password, ABOUT), undefined))

  it('compares a password with 50,000 or more common ones', async () => {
    const file = new URL('../../apps/api/sessions/common-passwords.bin', import.meta.url)
    assert.ok((await stat(file)).size / 6 >= 50_000)
    for (const first of ['123456', 'password', 'trustno1']) assert.ok(isCommonPassword(first), first)
  })

  it('judges a password at once, however long it is', async () => {
    const repeated = ['a'.repeat(1_024), 'ab'.repeat(512), 'acme'.repeat(256)]
    const hostile = [...repeated, `${'1'.repeat(1_023)}a`, `${' '.repeat(511)}a${'!'.repeat(512)}`]
    const took_ms = await threadCpu_ms(async () => {
      for (const password of hostile) passwordFault(password, ['acme'.repeat(50), 'x'.repeat(200)])
    })
    assert.ok(took_ms < 50, `${took_ms} ms of CPU`)
  })
})
