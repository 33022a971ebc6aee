import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { afterwards, forBlock } from '../support/block.ts'
import {
  api,
  assertAccessible,
  assertFocused,
  GLOBEX_OWNER,
  joinGlobex,
  knownToBrowser,
  testStack,
  vendorApi,
  visit,
} from '../support/workspace.ts'

const FIRST = 'a password to be changed'
const SECOND = 'wrong donkey capacitor nail'

describe('workspace: one’s own password and sessions', () => {
  const person = forBlock(() => joinGlobex(FIRST))
  const signIn = (password: string) => api('/v1/session', { body: { email: person.email, password } })
  const choose = async (page: Page, item: string) => {
    const account = page.getByRole('button', { name: person.email })
    assert.match(await account.innerText(), /^N\s+Noor\s/)
    await account.click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  const open = async (item: string) => {
    const { page } = await visit({ sessionToken: person.token, path: '/ven_globex/activity' })
    await choose(page, item)
    return { page, dialog: page.getByRole('dialog') }
  }

  const assertTyping = (page: Page, field: string) => page.locator(`input[name="${field}"]:focus`).waitFor()

  it('ends one session of the list, and the focus stays in the dialog', async () => {
    const { sessionToken: elsewhere } = await signIn(FIRST)
    const { sessionToken: ended } = await signIn(FIRST)
    const { page, dialog } = await open('Your sessions')
    const entries = dialog.getByRole('listitem')
    await entries.nth(2).waitFor()
    assert.equal(await entries.count(), 3)
    await api('/v1/session', { token: ended, method: 'DELETE' })
    const end = dialog.getByRole('button', { name: 'End session of node' }).first()
    for (const left of [2, 1]) {
      await end.press('Enter')
      await entries.nth(left).waitFor({ state: 'detached' })
      await assertFocused(page, 'Your sessions')
    }
    assert.equal((await api('/v1/session', { token: elsewhere })).code, 'unauthenticated')
    assert.equal((await api('/v1/session', { token: person.token })).user.email, person.email)
    await page.keyboard.press('Escape')
    await signIn(FIRST)
    await choose(page, 'Your sessions')
    await entries.nth(1).waitFor()
  })

  it('is changed by keyboard, says what is wrong with a field, and ends the other sessions', async () => {
    const { sessionToken: elsewhere } = await signIn(FIRST)
    const { page, dialog } = await open('Change your password')
    await assertTyping(page, 'currentPassword')
    const known = ['current-password ', 'new-password ', `username ${person.email}`]
    assert.deepEqual(await knownToBrowser(page), known)
    await dialog.getByText('nor guessable from your name, email address or company').waitFor()
    await page.keyboard.type('not this one')
    await page.keyboard.press('Tab')
    await page.keyboard.type('elevenchars')
    await page.keyboard.press('Enter')
    await dialog.getByText('At least 12 characters; 1 more.').waitFor()
    await assertTyping(page, 'newPassword')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('password1234')
    await page.keyboard.press('Enter')
    await dialog.getByText('This is not your password.').waitFor()
    await assertTyping(page, 'currentPassword')
    await page.keyboard.type(FIRST)
    await page.keyboard.press('Enter')
    await dialog.getByText(/must not be one of the most common/).waitFor()
    await assertTyping(page, 'newPassword')
    await page.keyboard.type(SECOND)
    await page.keyboard.press('Enter')
    await page.getByText('Your password is changed', { exact: true }).waitFor()
    await dialog.waitFor({ state: 'detached' })
    assert.equal((await api('/v1/session', { token: elsewhere })).code, 'unauthenticated')
    assert.equal((await api('/v1/session', { token: person.token })).user.email, person.email)
    assert.equal((await signIn(FIRST)).code, 'invalid_credentials')
    assert.equal((await signIn(SECOND)).user.email, person.email)
  })

  it('is asked for again before a company is handed over, if the sign-in is too old', async () => {
    const company = { vendorId: 'ven_globex', token: person.token }
    const { page } = await visit({ as: GLOBEX_OWNER, path: '/ven_globex/people' })
    const findOwner = async () => (await vendorApi('/people', company)).people[0]
    const { userId } = await findOwner()
    const handBack = { ...company, body: { role: 'owner' }, method: 'PATCH' }
    await using _ = afterwards(() => vendorApi(`/people/${userId}`, handBack))
    // The service refuses an old sign-in; this one is new.
    const problem = { status: 403, code: 'recent_sign_in_required', detail: 'Sign in again.' }
    await page.route('**/people/*', (route) => route.fulfill({ status: 403, json: problem }), { times: 1 })
    await page.getByRole('row').filter({ hasText: person.email }).getByRole('button').click()
    await page.getByRole('menuitem', { name: 'Hand over ownership' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type the new owner’s name').fill(person.email)
    await page.keyboard.press('Enter')
    await assertTyping(page, 'password')
    await assertAccessible(page)
    await page.keyboard.type((await testStack()).demoPassword)
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    assert.equal((await findOwner()).email, person.email)
  })
})
