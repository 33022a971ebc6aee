import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import {
  assertAccessible,
  assertFocused,
  createTestCompany,
  OWNER,
  signIn,
  signOut,
  testSmtp,
  visit,
} from '../support/workspace.ts'

const EMAIL = 'owner@forgetful.example'
const NEW_PASSWORD = 'wrong donkey capacitor nail'

describe('workspace: a forgotten password', () => {
  before(() => createTestCompany('ven_forgetful', 'Forgetful'))
  const assertTyping = (page: Page, name: string) => page.locator(`input[name="${name}"]:focus`).waitFor()
  async function request(page: Page, email: string): Promise<string | null> {
    await assertTyping(page, 'email')
    await page.keyboard.type(email)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Check your email' }).waitFor()
    await page.locator('p:focus').getByText(email).waitFor()
    return page.getByRole('main').textContent()
  }

  it('is replaced by keyboard with the link of the mail, which works once', async () => {
    const { page, baseUrl } = await visit()
    await page.getByRole('link', { name: 'Forgot your password?' }).press('Enter')
    await page.getByRole('heading', { name: 'Forgot your password?' }).waitFor()
    await assertAccessible(page)
    await request(page, EMAIL)
    await assertAccessible(page)

    const { text } = await (await testSmtp()).mailTo(EMAIL)
    const link = new URL(/http:\S+\/password-reset#pwr_[0-9A-Za-z]{43}/.exec(text)?.[0] ?? '')
    assert.equal(link.origin, baseUrl)
    await page.goto('about:blank')
    await page.goto(link.href)
    await assertTyping(page, 'password')
    assert.equal(page.url(), `${baseUrl}/password-reset`)
    assert.equal(await page.evaluate(() => document.documentElement.outerHTML.includes('pwr_')), false)
    await page.reload()
    await page.getByRole('heading', { name: 'Open the link in the email again' }).waitFor()
    await page.getByRole('alert').getByText('no longer in the address').waitFor()
    await assertFocused(page, 'Get a new link')
    await assertAccessible(page)
    const kept = await page.evaluate(() => JSON.stringify([history.state, sessionStorage]))
    assert.equal(kept.includes('pwr_'), false)
    await page.goto('about:blank')
    await page.goto(link.href)
    await page.getByLabel('New password').fill(NEW_PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your password is changed' }).waitFor()
    await assertFocused(page, 'Sign in')
    await assertAccessible(page)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${baseUrl}/`)
    await page.goBack()
    await page.getByRole('heading', { name: 'Forgot your password?' }).waitFor()
    await page.goto(baseUrl)
    await signIn(page, EMAIL, NEW_PASSWORD)
    await page.getByRole('heading', { name: 'OAuth2 Clients', level: 1 }).waitFor()
    assert.match((await (await testSmtp()).mailTo(EMAIL)).subject, /password was changed/)

    await page.goto(link.href)
    await page.getByLabel('New password').fill('another donkey capacitor')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Get a new link' }).waitFor()
    // A newer link, opened in the same tab.
    await page.evaluate((token) => location.assign(`#${token}`), `pwr_${'A'.repeat(43)}`)
    await assertTyping(page, 'password')
    assert.equal(await page.getByLabel('New password').inputValue(), '')
    await page.keyboard.type('another donkey capacitor')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Get a new link' }).press('Enter')
    await assertTyping(page, 'email')
    await page.reload()
    await page.getByRole('heading', { name: 'Forgot your password?' }).waitFor()
  })

  it('is offered after signing out, though the ways to sign in could not be read before', async () => {
    const { page, baseUrl } = await visit({ path: '/favicon.svg' })
    await page.route('**/v1/sign-in', (route) => route.abort())
    await page.goto(baseUrl)
    await signIn(page, OWNER)
    await page.getByRole('heading', { name: 'OAuth2 Clients', level: 1 }).waitFor()
    await page.unroute('**/v1/sign-in')
    await signOut(page)
    await page.getByRole('link', { name: 'Forgot your password?' }).waitFor()
  })
})
