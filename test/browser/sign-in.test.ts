import { strict as assert } from 'node:assert'
import type { Page, Route } from 'playwright-core'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { OPENID_CLIENT, startOpenidProvider, type TestOpenidProvider } from '../support/openid-provider.ts'
import { startOwnWorkspace } from '../support/own-workspace.ts'
import {
  api,
  assertAccessible,
  assertFocused,
  carrySession,
  clickUntilShown,
  forbidNewPages,
  newSession,
  OWNER,
  signIn,
  signOut,
  untilReadAgain,
  untilReported,
  type Visit,
  visit,
} from '../support/workspace.ts'

describe('workspace: signing in and out', () => {
  it('says the same of a wrong password and an unknown person, and forgets it while it tries again', async () => {
    const { page } = await visit()
    const sent = page.waitForRequest((request) => request.method() === 'POST')
    await signIn(page, OWNER, ' not the password ')
    assert.equal((await sent).postDataJSON().password, ' not the password ')
    const notice = page.getByRole('alert')
    const said = await notice.textContent()
    const answered = page.waitForResponse('**/v1/session')
    await page.route('**/v1/session', async (route) => {
      await notice.waitFor({ state: 'detached' })
      await route.continue()
    })
    await signIn(page, 'nobody@acme.example', 'not the password')
    await (await answered).finished()
    await page.getByRole('button', { name: 'Sign in' }).and(page.locator(':not([aria-busy])')).waitFor()
    assert.equal(await notice.textContent(), said)
    assert.match(said ?? '', /Email or password is incorrect/)
    await assertAccessible(page)
    // What was typed is selected, so that the next try replaces it.
    await page.keyboard.type('a')
    assert.equal(await page.getByLabel('Password').inputValue(), 'a')
  })

  it('opens the company’s clients after an owner signs in, and keeps the session across a reload, where no script can read it', async () => {
    const { page, context } = await visit()
    await forbidNewPages(page)
    await signIn(page, OWNER)
    await shows(page, 'OAuth2 Clients')
    assert.equal(new URL(page.url()).pathname, '/ven_acme/integrations/oauth2-clients')
    await page.reload()
    await shows(page, 'OAuth2 Clients')

    const cookies = await context.cookies()
    assert.deepEqual(cookies.map(({ name }) => name).sort(), ['browser', 'session'])
    for (const { httpOnly, sameSite } of cookies) assert.deepEqual([httpOnly, sameSite], [true, 'Strict'])
    assert.equal(await page.evaluate(() => document.cookie), '')
    assert.deepEqual(await everythingStored(page), NOTHING)
  })

  it('forgets everything in all tabs on signing out, and ends the session at the service', async () => {
    const token = await newSession(OWNER)
    const { page, context, baseUrl } = await visit({ sessionToken: token, path: '/ven_acme/activity' })
    await shows(page, 'Activity')
    const second = await context.newPage()
    await second.goto(`${baseUrl}/ven_acme/integrations/oauth2-clients`)
    await shows(second, 'OAuth2 Clients')
    // It has to hear of it from the first tab, since it cannot ask.
    await second.route('**/v1/**', (route) => route.abort())
    const ended = page.waitForResponse((response) => response.request().method() === 'DELETE')
    await signOut(page)
    await shows(page, 'Sign in')
    await shows(second, 'Sign in')
    assert.equal((await ended).status(), 204)
    assert.equal(page.url(), `${baseUrl}/`)
    assert.deepEqual(await everythingStored(page), NOTHING)
    assert.deepEqual(await context.cookies(), [])
    assert.equal((await api('/v1/session', { token })).code, 'unauthenticated')
    await page.goBack()
    await shows(page, 'Sign in')
  })

  it('signs in once signing out has been answered, which takes the cookie away', async () => {
    const { page } = await visit({ sessionToken: await newSession(OWNER), path: '/ven_acme/activity' })
    await shows(page, 'Activity')
    const { promise, resolve } = Promise.withResolvers<void>()
    const sent: string[] = []
    await page.route('**/v1/session', (route, request) => {
      sent.push(request.method())
      return promise.then(() => route.continue())
    })
    await signOut(page)
    await signIn(page, OWNER)
    await page.locator('button[aria-busy]').waitFor()
    await untilReported(page)
    assert.deepEqual(sent, ['DELETE'])
    resolve()
    await shows(page, 'OAuth2 Clients')
    assert.equal((await page.context().cookies()).length, 2)
  })

  it('signs in every tab with the first, each at its own address', async () => {
    const { page, context, baseUrl } = await visit({ path: '/ven_acme' })
    await forbidNewPages(page)
    const second = await context.newPage()
    await second.goto(`${baseUrl}/ven_acme/activity`)
    await shows(second, 'Sign in')
    await signIn(page, OWNER)
    await shows(page, 'OAuth2 Clients')
    await shows(second, 'Activity')
  })

  it('retries when the service cannot be reached at the start, on request and on its own, and so does a screen', async () => {
    const { page, baseUrl } = await visit({ path: '/favicon.svg', as: OWNER, clock: true })
    const abort = (route: Route) => route.abort('connectionreset')
    let seen = Promise.withResolvers<void>()
    await page.route('**/v1/session', (route) => seen.promise.then(() => abort(route)), { times: 2 })
    await page.goto(`${baseUrl}/ven_acme/activity`)
    const again = page.getByRole('button', { name: 'Try again' })
    for (const act of [() => again.click(), () => {}]) {
      await page.getByRole('status').getByText('Opening the workspace', { exact: true }).waitFor()
      seen.resolve()
      await page.getByRole('status').getByText('The workspace could not be opened').waitFor()
      await assertFocused(page, 'Try again')
      seen = Promise.withResolvers()
      await act()
    }
    await untilReadAgain(page, page.getByRole('heading', { name: 'Activity', level: 1 }))
    await page.route('**/callback-url', abort)
    await page.getByRole('link', { name: 'Callback URL' }).click()
    // Its next try waits until someone uses the page.
    for (let tries = 0; tries < 3; tries += 1) {
      await untilReported(page)
      await page.clock.fastForward('06:00')
    }
    await page.getByText('Updates are paused').waitFor()
    assert.equal(await page.getByText('You are offline').count(), 0)
    await untilReadAgain(page, page.getByRole('status').getByText('The service cannot be reached'))
    await page.unroute('**/callback-url', abort)
    await untilReadAgain(page, page.getByRole('textbox', { name: 'Callback URL' }))
  })

  it('waits 30 seconds for an answer, and no longer', async () => {
    const { page, baseUrl } = await visit({ path: '/favicon.svg', as: OWNER, clock: true })
    // The browser's own deadlines keep to no clock of a test.
    await page.addInitScript(() => {
      AbortSignal.timeout = (time_ms) => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), time_ms)
        return controller.signal
      }
    })
    await page.route('**/v1/session', () => {})
    await Promise.all([page.waitForRequest('**/v1/session'), page.goto(`${baseUrl}/ven_acme/activity`)])
    const failed = page.getByText('The workspace could not be opened')
    await page.clock.fastForward(25_000)
    assert.equal(await failed.count(), 0)
    await page.clock.fastForward(5_000)
    await failed.waitFor()
  })

  it('ends the session in the browser when it expires', async () => {
    const { page } = await visit({ as: OWNER, path: '/ven_acme/activity', clock: true })
    await shows(page, 'Activity')
    await page.clock.fastForward('06:00:00')
    const renamed = async (route: Route) => {
      const { user, ...session } = await (await route.fetch()).json()
      await route.fulfill({ json: { ...session, user: { ...user, name: 'Read Again' } } })
    }
    await page.route('**/v1/session', renamed, { times: 1 })
    await page.evaluate(() => new BroadcastChannel('session').postMessage('signed in'))
    await page.getByText('Read Again').first().waitFor()
    await page.clock.fastForward('11:00:00')
    await untilReported(page)
    assert.equal(await page.getByText('Your session has ended').count(), 0)
    await page.clock.fastForward('12:00:01')
    await page.getByText('Your session has ended').waitFor()
    assert.equal(await page.getByLabel('Email address').inputValue(), OWNER)
    await page.getByLabel('Password').and(page.locator(':focus')).waitFor()
  })

  it('asks nothing of the service once no one has touched the page for some minutes, until the next touch or the end of the session', async () => {
    const { page, isIdle } = await visit({ as: OWNER, path: '/ven_acme/activity', clock: true })
    await shows(page, 'Activity')
    const asked: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/v1/')) asked.push(request.url())
    })
    const pass = async (minutes: string) => {
      // An answer that is under way would meet the deadline of its request.
      await eventually(isIdle)
      asked.length = 0
      await page.clock.fastForward(minutes)
      await untilReported(page)
      return asked.length > 0
    }
    assert.deepEqual([await pass('03:00'), await pass('00:40')], [true, true])
    await pass('01:30')
    assert.deepEqual([await pass('00:40'), await pass('59:00')], [false, false])
    const paused = page.getByRole('status').getByText('Updates are paused because no one is using this page')
    for (const use of ['click', 'wheel']) {
      await paused.waitFor()
      await page.locator('main').dispatchEvent(use)
      await paused.waitFor({ state: 'detached' })
      assert.equal(await pass('01:00'), true)
      await pass('05:00')
    }
    await page.mouse.move(300, 300)
    const contentType = 'application/problem+json'
    const ended = { status: 401, contentType, json: { code: 'unauthenticated' } }
    await page.route('**/v1/session', (route) => route.fulfill(ended), { times: 1 })
    await pass('05:10')
    await pass('02:01:00')
    await page.getByText('Your session has ended').waitFor()
  })
})

describe('workspace: signing in with the provider of the company', () => {
  let provider: TestOpenidProvider
  let tab: Visit
  const own = forBlock(() =>
    startOwnWorkspace(async (baseUrl) => {
      provider = await startOpenidProvider({ redirectUris: [`${baseUrl}/v1/session/openid/callback`] })
      const env = {
        OPENID_ISSUER: provider.issuer,
        OPENID_CLIENT_ID: OPENID_CLIENT.id,
        OPENID_CLIENT_SECRET: OPENID_CLIENT.secret,
        OPENID_COMPANIES: 'ven_acme',
        OPENID_COMPANY_CLAIM: 'org',
        OPENID_ROLE_CLAIM: 'groups',
        OPENID_SCOPE: 'openid email profile company',
        OPENID_NAME: 'Acme ID',
      }
      return { env }
    }),
  )
  before(async () => {
    await own.service.createCompany({ vendorId: 'ven_acme' })
    const person = { org: 'ven_acme', email_verified: true }
    provider.people.set('kim', { ...person, groups: 'admin', name: 'Kim R.', email: 'kim@acme.example' })
    provider.people.set('pat', { ...person, groups: 'guest', name: 'Pat S.', email: 'pat@acme.example' })
  })
  after(() => provider[Symbol.asyncDispose]())
  afterEach(() => {
    const others = tab.troubles.filter((trouble) => !trouble.startsWith(`request: ${provider.issuer}/`))
    tab.troubles.splice(0, Infinity, ...others)
  })
  const enter = async (path: string, sessionToken?: string): Promise<Visit> => {
    tab = await visit({ baseUrl: own.baseUrl, path, ...(sessionToken && { sessionToken }) })
    return tab
  }

  it('signs in with the OpenID provider by keyboard, in every tab, at the same address, and signs out there too', async () => {
    provider.signInAs('kim')
    const { page, context } = await enter('/ven_acme/activity?days=7')
    const second = await context.newPage()
    await second.goto(`${own.baseUrl}/ven_acme/people`)
    await shows(second, 'Sign in')
    const button = page.getByRole('button', { name: 'Sign in with Acme ID' })
    await button.waitFor()
    await assertAccessible(page)
    await page.getByLabel('Email address').press('Shift+Tab')
    await assertFocused(page, 'Sign in with Acme ID')
    await button.press('Enter')
    await shows(page, 'Activity')
    assert.equal(page.url(), `${own.baseUrl}/ven_acme/activity?days=7`)
    await shows(second, 'People')
    const cookies = await context.cookies(own.baseUrl)
    const shown = cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite])
    assert.deepEqual(shown, [['session', true, 'Strict']])
    assert.deepEqual(await everythingStored(page), NOTHING)
    await page.getByText('joined as Admin by signing in with the OpenID provider').waitFor()

    const sessions = await own.service.db('sessions')
    await signOut(page, 'Kim R.')
    const atProvider = page.getByRole('button', { name: 'Yes, sign me out' })
    await atProvider.waitFor()
    assert.equal(new URL(page.url()).origin, provider.issuer)
    assert.equal((await own.service.db('sessions')).length, sessions.length - 1)
    await atProvider.click()
    await button.waitFor()
    assert.equal(page.url(), `${own.baseUrl}/`)
    assert.equal((await context.cookies(own.baseUrl)).length, 0)
  })

  it('keeps what was typed when the session ends and the person signs in with the provider in a new tab', async () => {
    provider.signInAs('kim')
    const { page, context } = await enter('/ven_acme/integrations/webhooks')
    await page.getByRole('button', { name: 'Sign in with Acme ID' }).press('Enter')
    const field = page.getByRole('textbox', { name: 'Callback URL' })
    await field.fill('https://hooks.acme.com/typed')
    await own.service.db('sessions').delete()
    const ended = page.getByText('To keep what you have typed, do it in a new tab.')
    await clickUntilShown(page.getByRole('button', { name: 'Save callback URL' }), ended)
    const link = page.getByRole('link', { name: 'in a new tab' })
    const [second] = await Promise.all([context.waitForEvent('page'), link.click()])
    await second.getByRole('button', { name: 'Sign in with Acme ID' }).press('Enter')
    await field.waitFor()
    assert.equal(await field.inputValue(), 'https://hooks.acme.com/typed')
  })

  it('says why a sign-in with the OpenID provider failed, and offers to try again', async () => {
    provider.signInAs('pat')
    const { page, context } = await enter('/ven_acme/analytics')
    const button = page.getByRole('button', { name: 'Sign in with Acme ID' })
    await button.click()
    const notice = page.getByRole('alert')
    await notice.getByText('Your account has no role here').waitFor()
    assert.equal(page.url(), `${own.baseUrl}/ven_acme/analytics`)
    await page.route('**/v1/session/openid', (route) => route.abort(), { times: 1 })
    await button.click()
    await notice.getByText('The service cannot be reached').waitFor()
    await context.clearCookies()
    provider.signInAs(undefined)
    await button.click()
    await notice.getByText('You have not signed in').waitFor()
    const { sessionToken } = await own.service.createPerson({ vendorId: 'ven_acme', role: 'admin' })
    await carrySession(context, sessionToken, own.baseUrl)
    await page.evaluate(() => new BroadcastChannel('session').postMessage('signed in'))
    await signOut(page, '@')
    await button.waitFor()
    assert.equal(await notice.count(), 0)
    await page.route('**/v1/sign-in', (route) => route.fulfill({ json: PROVIDER_ONLY }))
    await page.reload()
    await page.getByText('Your company decides who may sign in.').waitFor()
    assert.equal(await notice.count(), 0)
    const form = page.getByLabel('Password').or(page.getByText('or', { exact: true }))
    assert.equal(await form.count(), 0)
    await button.focus()
    await assertAccessible(page)
  })

  it('shows the sign-in form when the answer with the sign-in methods is missing or breaks off', async () => {
    const { page } = await enter('/ven_acme/people')
    for (const isMissing of [true, false]) {
      let asked = 0
      await page.unroute('**/v1/sign-in')
      await page.route('**/v1/sign-in', (route) => {
        asked += 1
        return isMissing ? route.fulfill({ status: 404, body: '' }) : route.abort()
      })
      await page.reload()
      await page.getByLabel('Password').waitFor()
      assert.equal(await page.getByRole('button', { name: 'Sign in with Acme ID' }).count(), 0)
      assert.ok(asked <= 2, `asked ${asked} times`)
    }
  })
})

const shows = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 }).waitFor()

const PROVIDER_ONLY = { builtInAccounts: false, openid: { name: 'Acme ID' } }

const NOTHING = { session: {}, local: {}, databases: [], caches: [] }

/** All that a script of the page can read, but its cookies. */
const everythingStored = (page: Page) =>
  page.evaluate(async () => ({
    session: { ...sessionStorage },
    local: { ...localStorage },
    databases: await indexedDB.databases(),
    caches: await caches.keys(),
  }))
