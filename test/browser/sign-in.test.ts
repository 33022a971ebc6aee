import { strict as assert } from 'node:assert'
import { api, OWNER, sessionToken, testWorkspace, type Visit, visit } from '../support/workspace.ts'

describe('workspace: signing in and out', function () {
  this.timeout(60_000)
  let tab: Visit
  afterEach(() => tab?.leave())

  async function fill(email: string, password: string): Promise<void> {
    await tab.page.getByLabel('Email address').fill(email)
    await tab.page.getByLabel('Password').fill(password)
    await tab.page.getByRole('button', { name: 'Sign in' }).click()
  }

  it('leads an owner to the clients of the company, which the address names', async () => {
    const { stack } = await testWorkspace()
    tab = await visit()
    await fill(OWNER, stack.demoPassword)
    await tab.page.getByRole('heading', { name: 'OAuth2 Clients', level: 1 }).waitFor()
    assert.equal(new URL(tab.page.url()).pathname, '/ven_acme/integrations/oauth2-clients')
  })

  it('says the same for a wrong password and for an unknown person', async () => {
    tab = await visit()
    await fill(OWNER, 'not the password')
    const notice = tab.page.getByRole('alert')
    const said = await notice.textContent()
    await fill('nobody@acme.example', 'not the password')
    await tab.page
      .getByRole('button', { name: 'Sign in' })
      .and(tab.page.locator(':not([aria-busy])'))
      .waitFor()
    assert.equal(await notice.textContent(), said)
    assert.match(said ?? '', /Email or password is incorrect/)
  })

  it('names an empty field before it asks the service', async () => {
    tab = await visit()
    let asked = 0
    tab.page.on('request', (request) => {
      if (request.url().endsWith('/v1/session')) asked++
    })
    await tab.page.getByRole('button', { name: 'Sign in' }).click()
    await tab.page.getByText('Enter your email address.').waitFor()
    assert.equal(
      await tab.page.getByLabel('Email address').evaluate((it) => it === document.activeElement),
      true,
    )
    assert.equal(asked, 0)
  })

  it('keeps the session over a reload, in the tab only', async () => {
    tab = await visit({ as: OWNER })
    await tab.page.getByRole('heading', { name: 'OAuth2 Clients' }).waitFor()
    await tab.page.reload()
    await tab.page.getByRole('heading', { name: 'OAuth2 Clients' }).waitFor()
    const other = await tab.context.newPage()
    await other.goto(tab.baseUrl)
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  it('forgets everything on signing out, and ends the session at the service', async () => {
    tab = await visit({ as: OWNER, path: '/ven_acme/activity' })
    await tab.page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor()
    const token = (await tab.page.evaluate(() => sessionStorage.getItem('session-token'))) as string
    await tab.page.getByRole('button', { name: OWNER }).click()
    const ended = tab.page.waitForResponse((response) => response.request().method() === 'DELETE')
    await tab.page.getByRole('menuitem', { name: 'Sign out' }).click()
    await tab.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await ended
    assert.deepEqual(await everythingStored(tab), {
      session: {},
      local: {},
      cookies: [],
      databases: [],
      caches: [],
    })
    assert.equal((await api('/v1/session', { token })).code, 'unauthenticated')
    await tab.page.goBack()
    await tab.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  it('leads back to the same place after the session has ended at the service', async () => {
    const { stack } = await testWorkspace()
    const token = await sessionToken(OWNER)
    const path = '/ven_acme/analytics?days=7'
    tab = await visit({ sessionToken: token, path })
    await tab.page.getByRole('button', { name: 'Download CSV' }).waitFor()
    await api('/v1/session', { token, method: 'DELETE' })
    await tab.page.getByRole('radio', { name: '90 days' }).check({ force: true })
    await tab.page.getByText('Your session has ended').waitFor()
    const place = tab.page.url()
    await fill(OWNER, stack.demoPassword)
    await tab.page.getByRole('button', { name: 'Download CSV' }).waitFor()
    assert.equal(tab.page.url(), place)
    assert.match(place, /analytics\?days=90$/)
  })

  it('ends the session here when its time is over', async () => {
    tab = await visit()
    await tab.page.clock.install()
    await tab.page.evaluate(
      (value) => sessionStorage.setItem('session-token', value),
      await sessionToken(OWNER),
    )
    await tab.page.goto(`${tab.baseUrl}/ven_acme/activity`)
    await tab.page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor()
    await tab.page.clock.fastForward('12:00:01')
    await tab.page.getByText('Your session has ended').waitFor()
    assert.deepEqual((await everythingStored(tab)).session, {})
  })

  it('keeps an unsaved edit over the end of the session, and drops it on signing out', async () => {
    const { stack } = await testWorkspace()
    const token = await sessionToken(OWNER)
    tab = await visit({ sessionToken: token, path: '/ven_acme/integrations/webhooks' })
    const field = tab.page.getByLabel('Callback URL')
    await field.fill('https://hooks.half-typed.com/')
    await api('/v1/session', { token, method: 'DELETE' })
    await tab.page.getByRole('link', { name: 'Activity' }).click()
    await tab.page.getByText('Your session has ended').waitFor()
    await fill(OWNER, stack.demoPassword)
    await tab.page.getByRole('link', { name: 'Webhooks' }).click()
    assert.equal(await field.inputValue(), 'https://hooks.half-typed.com/')
    await tab.page.getByRole('button', { name: OWNER }).click()
    await tab.page.getByRole('menuitem', { name: 'Sign out' }).click()
    await fill(OWNER, stack.demoPassword)
    await tab.page.getByRole('link', { name: 'Webhooks' }).click()
    assert.notEqual(await field.inputValue(), 'https://hooks.half-typed.com/')
  })

  it('says the same of a company that is not mine and of one that does not exist', async () => {
    tab = await visit({ as: OWNER, path: '/ven_globex/analytics' })
    await tab.page.getByRole('heading', { name: 'Not one of your companies' }).waitFor()
    const said = await tab.page.getByRole('main').textContent()
    await tab.page.goto(`${tab.baseUrl}/ven_nosuch/analytics`)
    await tab.page.getByRole('heading', { name: 'Not one of your companies' }).waitFor()
    assert.equal(await tab.page.getByRole('main').textContent(), said)
  })
})

async function everythingStored({ page, context }: Visit) {
  const inPage = await page.evaluate(async () => ({
    session: { ...sessionStorage },
    local: { ...localStorage },
    databases: await indexedDB.databases(),
    caches: await caches.keys(),
  }))
  return { ...inPage, cookies: await context.cookies() }
}
