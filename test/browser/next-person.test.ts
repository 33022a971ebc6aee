import { strict as assert } from 'node:assert'
import type { Page, Route } from 'playwright-core'
import { fillClient, submitClient } from '../support/reveal.ts'
import {
  ADMIN,
  api,
  CLIENTS,
  clickUntilShown,
  createClient,
  invite,
  newSession,
  OWNER,
  signIn,
  signOut,
  untilReported,
  visit,
} from '../support/workspace.ts'

const WEBHOOKS = '/ven_acme/integrations/webhooks'

describe('workspace: the next person in the same tab', () => {
  async function become(page: Page, email: string): Promise<void> {
    await signIn(page, email)
    await page.getByRole('button', { name: email }).waitFor()
  }
  async function endSession(page: Page, token: string): Promise<void> {
    await api('/v1/session', { token, method: 'DELETE' })
    const ended = page.getByText('Your session has ended')
    await clickUntilShown(page.getByRole('link', { name: 'Analytics' }), ended)
  }
  /** What is shown from now on can only have been kept. */
  const findNothing = (page: Page) =>
    page.route('**/v1/vendor/**', (route) => route.fulfill({ status: 404, json: {} }))

  for (const [how, leave] of [
    ['signed out', (page: Page) => signOut(page)],
    ['was away too long', endSession],
  ] as const)
    it(`shows the next person nothing that was read for the one before, who ${how}`, async () => {
      const token = await newSession(OWNER)
      const { clientId } = await createClient({ name: 'Read by the owner' })
      const { page } = await visit({ sessionToken: token, path: `${CLIENTS}/${clientId}` })
      await page.getByText('No tokens issued').waitFor()
      await page.getByRole('link', { name: 'OAuth2 Clients' }).first().click()
      await page.getByRole('link', { name: 'Read by the owner' }).first().waitFor()
      await page.getByRole('link', { name: 'Activity' }).click()
      await page.getByText('created the client Read by the owner').first().waitFor()
      await leave(page, token)

      await findNothing(page)
      await become(page, ADMIN)
      for (const screen of ['OAuth2 Clients', 'Activity']) {
        await page.getByRole('link', { name: screen }).click()
        await page.getByRole('heading', { name: screen, level: 1 }).waitFor()
        await page.getByText('Not found').waitFor()
        assert.equal((await page.content()).includes('Read by the owner'), false, screen)
      }
    })

  it('shows nothing that a tab read before someone else accepted an invitation in another', async () => {
    const token = await newSession(OWNER)
    await createClient({ name: 'Read in another tab' })
    const link = await invite({ name: 'Next Person', email: 'next@acme.example', role: 'admin' })
    const { page, context, baseUrl } = await visit({ sessionToken: token, path: CLIENTS })
    await page.getByRole('link', { name: 'Read in another tab' }).waitFor()
    const dialog = await fillClient(page, 'Typed by the owner')
    await findNothing(page)
    const other = await context.newPage()
    await other.goto(baseUrl + link)
    await other.getByLabel('Choose a password').fill('a password of the next one')
    await other.keyboard.press('Enter')
    await other.getByRole('heading', { name: 'OAuth2 Clients', level: 1 }).waitFor()
    await page.bringToFront()
    await page.getByText('next@acme.example').first().waitFor({ state: 'attached' })
    await page.getByText('Not found').waitFor()
    assert.equal((await page.content()).includes('Read in another tab'), false)
    assert.equal(await dialog.getByLabel('Name').inputValue(), '')
  })

  it('keeps a session when a request of the one before is refused late', async () => {
    const { page } = await visit({ sessionToken: await newSession(OWNER), path: WEBHOOKS })
    let answer = (_: Parameters<Route['fulfill']>[0]): Promise<void> => Promise.reject(new Error('not sent'))
    await page.route('**/v1/vendor/ven_acme/callback-url', (route) => {
      if (route.request().method() !== 'PATCH') return route.continue()
      answer = (how) => route.fulfill(how)
    })
    const sent = page.waitForRequest((request) => request.method() === 'PATCH')
    await page.getByRole('textbox').fill('https://hooks.sent-before-signing-out.com/')
    await page.getByRole('button', { name: 'Save callback URL' }).click()
    await sent
    await signOut(page)
    await become(page, ADMIN)
    await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'PATCH'),
      answer({ status: 401, json: { code: 'invalid_token', title: 'Invalid token' } }),
    ])
    // An answer that comes after it has been read when this one has.
    await untilReported(page)
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor()
    assert.equal(await page.getByText('Your session has ended').count(), 0)
  })

  it('stays signed out when the roles of the one before arrive late', async () => {
    const { page } = await visit({ sessionToken: await newSession(OWNER), path: CLIENTS })
    await page.getByRole('heading', { name: 'OAuth2 Clients', level: 1 }).waitFor()
    let answer = (): Promise<void> => Promise.reject(new Error('not asked'))
    await page.route('**/v1/session', (route) => {
      if (route.request().method() !== 'GET') return route.continue()
      answer = () => route.continue()
    })
    await page.route('**/v1/vendor/ven_acme/activity*', (route) =>
      route.fulfill({ status: 403, json: { code: 'forbidden', title: 'Forbidden' } }),
    )
    const asked = page.waitForRequest((request) => /\/v1\/session$/.test(request.url()))
    await page.getByRole('link', { name: 'Activity' }).click()
    await asked
    await page.evaluate(() => new BroadcastChannel('session').postMessage('signed out'))
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await Promise.all([page.waitForResponse(/\/v1\/session$/), answer()])
    await untilReported(page)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    assert.equal(await page.getByRole('button', { name: OWNER }).count(), 0)
  })

  it('drops the unsaved input of someone whose session ended when another person signs in', async () => {
    const token = await newSession(OWNER)
    const { page } = await visit({ sessionToken: token, path: WEBHOOKS })
    const field = page.getByRole('textbox', { name: 'Callback URL' })
    const typed = 'https://hooks.typed-by-the-owner.com/'
    await field.fill(typed)
    await endSession(page, token)
    await become(page, ADMIN)
    await page.getByRole('link', { name: 'Callback URL' }).click()
    await field.waitFor()
    assert.notEqual(await field.inputValue(), typed)
  })

  it('hides the secret that someone left on the screen when another person signs in', async () => {
    const token = await newSession(OWNER)
    const { page, context, baseUrl } = await visit({ sessionToken: token, path: CLIENTS })
    const dialog = await fillClient(page, 'Left open', 'Read boosts')
    await submitClient(page)
    const secret = (await dialog.getByText(/^ias_\w+$/).textContent()) as string
    await api('/v1/session', { token, method: 'DELETE' })
    await page.getByText('Save the secret before you sign in again').waitFor()
    const other = await context.newPage()
    await other.goto(baseUrl + CLIENTS)
    await become(other, ADMIN)
    await page.bringToFront()
    await page.getByRole('button', { name: ADMIN }).waitFor({ state: 'attached' })
    assert.equal((await page.content()).includes(secret), false)
  })

  it('shows no one else a secret that arrives once another person has signed in', async () => {
    const { page, context, baseUrl } = await visit({ sessionToken: await newSession(OWNER), path: CLIENTS })
    const other = await context.newPage()
    await other.goto(baseUrl + WEBHOOKS)
    await page.bringToFront()
    await fillClient(page, 'Answered to no one', 'Read boosts')
    const nextPerson = page.getByRole('button', { name: ADMIN, includeHidden: true })
    await page.route('**/oauth-clients', async (route) => {
      const response = await route.fetch()
      await signOut(other)
      await become(other, ADMIN)
      await page.bringToFront()
      await nextPerson.waitFor({ state: 'attached' })
      await route.fulfill({ response })
    })
    await Promise.all([page.waitForResponse('**/oauth-clients'), submitClient(page)])
    await untilReported(page)
    assert.equal(await page.getByText('Answered to no one is ready').count(), 0)
  })
})
