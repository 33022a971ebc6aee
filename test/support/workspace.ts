import { strict as assert } from 'node:assert'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type axe from 'axe-core'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page, Request } from 'playwright-core'
import { createCompany } from '../../infra/admin/companies.ts'
import { within } from '../../shared/process/within.ts'
import { launchChromium } from './chromium.ts'
import { eventually } from './eventually.ts'
import { fetchToken, type TokenRequest } from './fetch-token.ts'
import { testOperator } from './operator.ts'
import { startSmtp, type TestSmtp } from './smtp.ts'
import { startTestStack, type TestStack } from './stack.ts'
import { connectedDatabase } from './stores.ts'

/*
 * One local stack and one Chromium for all browser tests, each started by the first that asks, ended after
 * the last.
 */
let starting: Promise<{ stack: TestStack; smtp: TestSmtp }> | undefined
let launching: Promise<Browser> | undefined

export async function testWorkspace() {
  const [stack, browser] = await Promise.all([testStack(), testBrowser()])
  return { stack, browser }
}

function testBrowser(): Promise<Browser> {
  launching ??= launchChromium()
  return launching
}

/** The stack alone, for tests that need no browser. */
export async function testStack(): Promise<TestStack> {
  starting ??= startWithMail()
  return (await starting).stack
}

/** The server that the stack sends its mails to. */
export async function testSmtp(): Promise<TestSmtp> {
  await testStack()
  return ((await starting) as { smtp: TestSmtp }).smtp
}

async function startWithMail() {
  const smtp = await startSmtp({ tls: 'none', login: 'none' })
  const stack = await startTestStack({
    env: {
      SMTP_URL: smtp.url,
      MAIL_FROM: 'Integrations <integrations@operator.example>',
      RATE_SIGN_IN_PER_ACCOUNT: '1000/60',
      RATE_SIGN_IN_PER_ADDRESS: '1000/60',
      RATE_API_PER_SESSION: '100000/60',
      RATE_CHANGES_PER_COMPANY: '100000/60',
    },
  })
  return { stack, smtp }
}

after(async () => {
  // A failed start has failed its tests. Here it would only keep the stores of all tests from ending.
  const [browser, stack] = await Promise.allSettled([launching, starting])
  if (browser.status === 'fulfilled') await browser.value?.close()
  if (stack.status === 'fulfilled') await stack.value?.stack.remove()
  if (stack.status === 'fulfilled') await stack.value?.smtp.stop()
})

export const OWNER = 'owner@acme.example'
export const ADMIN = 'admin@acme.example'
export const MEMBER = 'member@acme.example'
export const SUSPENDED = 'suspended@acme.example'
export const GLOBEX_OWNER = 'owner@globex.example'

/** The list of Acme's clients. */
export const CLIENTS = '/ven_acme/integrations/oauth2-clients'

export interface VisitOptions {
  /** Where the workspace is served; default: the local stack. */
  baseUrl?: string
  /** Signs in as this demo user without the form. */
  as?: string
  sessionToken?: string
  path?: string
  theme?: 'light' | 'dark'
  width?: number
  height?: number
  /** Uses a fresh browser that nothing else uses: for a first load, or a change that cannot be undone. */
  alone?: boolean
  /** As `alone`, with a clock that can be moved on. */
  clock?: boolean
  /** As `alone`, at this time, which stands still. Timers go on. */
  at?: string
  /** Where the browser is, if `at` is given. Default: UTC. */
  zone?: string
  /** Stays open after its test, until it is left. */
  stays?: boolean
}

export type Visit = Awaited<ReturnType<typeof visit>>

const openTabs = new Set<{ stays: boolean; leave: () => Promise<void> }>()

before(function () {
  // A hook of each block: if a tab had trouble, the run goes on with the next block.
  for (const block of this.test?.parent?.suites ?? [])
    block.afterEach('leaves its tabs', async () => {
      for (const tab of openTabs) if (!tab.stays) await tab.leave()
    })
})

/** Tabs as good as new but for their process with its compiled scripts: a visit takes half the time. */
let spare: Page | undefined

/** Opens a tab in a browser that nothing else uses meanwhile, with empty storage. */
export async function visit(options: VisitOptions = {}) {
  const { as, path = '/', theme = 'light', width = 1280, height = 900 } = options
  const { stays = false, zone: timezoneId = 'UTC' } = options
  const baseUrl = options.baseUrl ?? (await testStack()).baseUrl
  const alone = options.alone || options.clock || options.at !== undefined
  const reused = alone ? undefined : spare
  if (reused) spare = undefined
  const page = reused ?? (await newTab(options.at ? { timezoneId } : {}))
  const context = page.context()
  await page.setViewportSize({ width, height })
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce', forcedColors: null, media: null })
  const troubles = watch(page, baseUrl)
  const isIdle = watchRequests(page)
  const token = options.sessionToken ?? (as && (await sessionToken(as)))
  if (token) await carrySession(context, token, baseUrl)
  if (options.clock) await page.clock.install()
  if (options.at) await page.clock.setFixedTime(options.at)
  if (options.at) await page.addInitScript(stopSlowPolls)
  // When its last route is used up, the browser stops intercepting and may lose the request of that moment.
  if (options.at || options.clock) await context.route('**/no-such-path', (route) => route.abort())
  await page.goto(baseUrl + path)
  const tab = {
    page,
    context,
    baseUrl,
    stays,
    /** Script errors, violations of the Content-Security-Policy, foreign requests: no screen causes any. */
    troubles,
    /** Returns whether every request so far has ended. */
    isIdle,
    /** Closes the tab. @throws AssertionError when there was trouble. */
    async leave(): Promise<void> {
      if (!openTabs.delete(tab)) return
      if (alone || spare || page.isClosed()) await context.close()
      else spare = await emptied(page, baseUrl)
      assert.deepEqual(troubles, [])
    },
  }
  openTabs.add(tab)
  return tab
}

/** What a person changed is to be seen at once, not only when the screen next reads on its own. */
function stopSlowPolls(): void {
  const repeat = window.setInterval
  const faster = (act: () => void, time_ms: number) => (time_ms < 20_000 ? repeat(act, time_ms) : 0)
  Object.assign(window, { setInterval: faster })
}

async function newTab(options: BrowserContextOptions): Promise<Page> {
  const browser = await testBrowser()
  const context = await browser.newContext({ locale: 'en-GB', acceptDownloads: true, ...options })
  context.setDefaultTimeout(WAIT_MS)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  return context.newPage()
}

/** Long enough for a busy machine: a test that passes never waits for it. */
const WAIT_MS = 60_000

/** Events that tests listen to. A page itself listens to others. */
const LISTENED_TO = ['pageerror', 'console', 'request', 'requestfinished', 'requestfailed', 'dialog']

/** Removes everything that a visit may have left in a tab. */
async function emptied(page: Page, baseUrl: string): Promise<Page> {
  for (const other of page.context().pages()) if (other !== page) await other.close()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.context().setOffline(false)
  // From the same origin, so that the process stays, but without a script.
  await page.goto(`${baseUrl}/favicon.svg`)
  for (const event of LISTENED_TO) page.removeAllListeners(event)
  await page.context().clearCookies()
  await page.evaluate(() => {
    localStorage.clear()
    sessionStorage.clear()
  })
  return page
}

/** Gives the browser a session, as the service's cookie would. */
export const carrySession = (context: BrowserContext, token: string, baseUrl: string): Promise<void> =>
  context.addCookies([{ name: 'session', value: token, url: baseUrl, httpOnly: true, sameSite: 'Strict' }])

function watch(page: Page, baseUrl: string): string[] {
  const troubles: string[] = []
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`))
  page.on('console', (message) => {
    // The browser itself reports every answer of 400 and above, and every lost connection.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      troubles.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(`${baseUrl}/`) && !/^(?:blob|data):/.test(request.url()))
      troubles.push(`request: ${request.url()}`)
  })
  return troubles
}

function watchRequests(page: Page): () => boolean {
  const open = new Set<Request>()
  const end = (request: Request) => open.delete(request)
  page
    .on('request', (request) => open.add(request))
    .on('requestfinished', end)
    .on('requestfailed', end)
  return () => open.size === 0
}

const sessions = new Map<string, string>()

/** A session of a demo user, which other tests use too: each sign-in hashes a password. */
export async function sessionToken(email: string): Promise<string> {
  const token = sessions.get(email)
  if (token && (await api('/v1/session', { token })).user) return token
  const fresh = await newSession(email)
  sessions.set(email, fresh)
  return fresh
}

/** A session of a demo user for a test about sessions. */
export async function newSession(email: string): Promise<string> {
  const stack = await testStack()
  const { sessionToken } = await api('/v1/session', { body: { email, password: stack.demoPassword } })
  return sessionToken as string
}

/** Signs in with the form, by default with the password of all demo users. */
export async function signIn(page: Page, email: string, password?: string): Promise<void> {
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password').fill(password ?? (await testStack()).demoPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Signs out with the menu of the account. */
export async function signOut(page: Page, account = OWNER): Promise<void> {
  await page.getByRole('button', { name: account }).click()
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
}

/** Creates a company for one test or block alone, and returns a session of its owner, owner@ID.example. */
export async function createTestCompany(vendorId: string, name: string) {
  const { stores } = await testStack()
  await using db = connectedDatabase(stores.postgres.ownerUrl)
  const [email, password] = [`owner@${vendorId.replace('ven_', '')}.example`, `a password for ${vendorId}`]
  await createCompany(db, {
    vendorId,
    name,
    timezone: 'UTC',
    currency: 'EUR',
    by: testOperator(),
    owner: { email, name: 'Nora', password: async () => password, account: 'new' },
  })
  const { sessionToken } = await api('/v1/session', { body: { email, password } })
  return { vendorId, token: String(sessionToken) }
}

/** Invites a person by a link, which no one has opened. Returns its path and fragment. */
export async function invite(person: { name: string; email: string; role: string }, company?: InCompany) {
  const body = { ...person, deliver: 'link' }
  const { pathname, hash } = new URL((await vendorApi('/people', { ...company, body })).invitationUrl)
  return pathname + hash
}

/** Accepts an invitation as its link would, beside the browser. */
export const join = (link: string, password = 'a password of the invited') =>
  api('/v1/invitation', { body: { token: link.split('#')[1], password } })

/** Calls the API beside the browser, through the gateway. */
export async function api(
  path: string,
  { token, method, body }: { token?: string; method?: string; body?: unknown } = {},
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape.
): Promise<any> {
  const stack = await testStack()
  const response = await fetch(stack.baseUrl + path, {
    signal: AbortSignal.timeout(WAIT_MS),
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return text ? JSON.parse(text) : undefined
}

/** Asks for a token as a client does. */
export async function requestToken(client: TokenRequest) {
  const response = await fetchToken((await testStack()).baseUrl, client)
  const body = (await response.json()) as Record<string, unknown>
  return { status: response.status, requestId: response.headers.get('x-request-id') ?? '', body }
}

/** The company that a request is about, and the session of the person who sends it. */
interface InCompany {
  vendorId?: string | undefined
  token?: string | undefined
}

interface NewClient extends InCompany {
  name: string
  scopes?: string[]
  replaces?: string
  expiresAt?: string
  publicKey?: unknown
  workload?: object
}

/** Creates a client by the API, beside the browser. */
export const createClient = ({
  scopes = ['analytics:read'],
  vendorId,
  token,
  ...others
}: NewClient): Promise<{ clientId: string; clientSecret: string }> =>
  vendorApi('/oauth-clients', { vendorId, token, body: { scopes, ...others } })

/** Returns the Active clients of Acme that have this name. */
export async function findClients(name: string) {
  const { clients } = await vendorApi('/oauth-clients?status=Active&limit=200')
  return clients.filter((client: { name: string }) => client.name === name)
}

export const revokeClient = (clientId: string, company?: InCompany) =>
  vendorApi(`/oauth-clients/${clientId}/revoke`, { ...company, method: 'POST' })

/** Calls the API about a company, by default as the owner of Acme. */
export const vendorApi = async (
  path: string,
  { vendorId = 'ven_acme', token, ...request }: InCompany & { method?: string; body?: unknown } = {},
) => api(`/v1/vendor/${vendorId}${path}`, { token: token ?? (await sessionToken(OWNER)), ...request })

/** Waits until a client's tokens are counted, a second later: a page opened sooner shows none for 30 s. */
export const untilUsed = (clientId: string, company?: InCompany) =>
  until(`a token of ${clientId}`, async () => {
    const { hours, scopes } = await vendorApi(`/oauth-clients/${clientId}/usage`, company)
    const counted = hours.reduce((sum: number, hour: { tokens: number }) => sum + hour.tokens, 0)
    return counted > 0 && scopes.some(({ lastUsedAt }: { lastUsedAt: string | null }) => lastUsedAt)
  })

/** Waits until a refused request can be explained, about a second after it was answered. Returns its id. */
export async function untilExplained({ requestId }: { requestId: string }, company?: InCompany) {
  await until(`the refusal ${requestId}`, async () => {
    const { refusals } = await vendorApi('/refusals', company)
    return refusals.some((refusal: { requestId: string }) => refusal.requestId === requestId)
  })
  return requestId
}

/** Moves the clock of a page in use on until it shows what it reads every 30 seconds or more often. */
export const untilReadAgain = (page: Page, shown: Locator): Promise<boolean> =>
  eventually(
    async () => {
      await page.keyboard.press('Shift')
      await page.clock.fastForward(30_000)
      return shown.isVisible()
    },
    { otherwise: () => `never read: ${shown}`, every_ms: 200 },
  )

const until = (what: string, isThere: () => Promise<boolean>) =>
  eventually(isThere, { otherwise: () => `${what}: never seen`, every_ms: 100 })

/**
 * Clicks what makes the service answer that the session has ended or that access is gone, and waits until the
 * page says so. Every screen also asks on its own now and then, so the page may say it first and leave
 * nothing to click.
 */
export async function clickUntilShown(control: Locator, shown: Locator): Promise<void> {
  await control.or(shown).first().click()
  await shown.waitFor()
}

/** What this page does from now on must not be a step that its reader has to go back. */
export const forbidNewPages = (page: Page): Promise<void> =>
  page.evaluate(() => {
    history.pushState = () => {
      throw new Error('a new page of the history')
    }
  })

/** Whether the page asks its reader before it is left. */
export const asksBeforeLeaving = (page: Page): Promise<boolean> =>
  page.evaluate(() => !window.dispatchEvent(new Event('beforeunload', { cancelable: true })))

/** Waits until tests know of every request of the page so far: the browser reports them in order. */
export async function untilReported(page: Page): Promise<void> {
  const answered = page.evaluate(() => fetch('/favicon.svg').then((response) => response.text()))
  assert.ok(await within(WAIT_MS, answered), 'a page that asked for a file got no answer')
}

/** Lets the next request to this address arrive, and loses its answer. */
export const loseAnswer = (page: Page, url: string): Promise<unknown> =>
  page.route(
    url,
    async (route) => {
      await route.fetch()
      await route.abort('connectionreset')
    },
    { times: 1 },
  )

const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

/** By all rules of axe, or those named. @throws AssertionError naming every rule that the page breaks. */
export async function assertAccessible(page: Page, rules?: string[]): Promise<void> {
  // Once for each page, as it is larger than everything else that the browser gets.
  if (!(await page.evaluate(() => 'axe' in window))) {
    const devtools = await page.context().newCDPSession(page)
    // As a script, whose compiled code the browser keeps for the next page. `page.evaluate` uses `eval`.
    await devtools.send('Runtime.evaluate', { expression: await readFile(AXE, 'utf8') })
    await devtools.detach()
  }
  const violations = await page.evaluate(async (runOnly) => {
    const { run } = (window as unknown as { axe: typeof axe }).axe
    const { violations } = await run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) })
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => [id, target, failureSummary]),
    )
  }, rules)
  assert.deepEqual(violations, [])
  // axe asks for no words, only that those which are named are there.
  const unexplained = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLInputElement>('[aria-describedby], [aria-invalid="true"]')]
      .filter((it) => {
        const words = document.getElementById(it.getAttribute('aria-describedby') ?? '')?.textContent
        return it.ariaInvalid === 'true' ? !words : words === undefined
      })
      .map(({ outerHTML }) => outerHTML),
  )
  assert.deepEqual(unexplained, [], 'described by nothing, or wrong without a word')
  const misleading = await page.locator('a').evaluateAll((links) =>
    (links as HTMLAnchorElement[])
      .filter(({ target, rel, textContent: words }) => {
        return /new tab/.test(words) !== (`${target} ${rel}` === '_blank noopener')
      })
      .map(({ outerHTML }) => outerHTML),
  )
  assert.deepEqual(misleading, [], 'opens where its words do not say')
  // Visitors ask for no motion, and in a code two letters never become one.
  const look = await page.evaluate(() => {
    const codes = [...document.querySelectorAll('code, pre')]
    const joined = codes.filter((it) => getComputedStyle(it).fontVariantLigatures !== 'none')
    return { moving: document.getAnimations().length, joined: joined.length }
  })
  assert.deepEqual(look, { moving: 0, joined: 0 })
}

/** @throws AssertionError if it is not accessible in both themes, or wider than a narrow window. */
export async function assertLooksRight(page: Page): Promise<void> {
  const size = page.viewportSize() as { width: number; height: number }
  await assertAccessible(page)
  await page.setViewportSize({ width: 320, height: 740 })
  await assertFits(page)
  // The other theme changes colours, and nothing else. Narrow, some words are for screen readers alone.
  await page.emulateMedia({ colorScheme: 'dark' })
  await assertAccessible(page, ['color-contrast', 'link-name', 'button-name'])
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(size)
}

/** @throws AssertionError if the page or what lies over it scrolls sideways, naming it or what sticks out. */
export async function assertFits(page: Page, where = 'wider than the window'): Promise<void> {
  const outside = await page.evaluate(async () => {
    const { documentElement: root } = document
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
    const tooWide = () =>
      [root, ...document.querySelectorAll('[role="dialog"], [role="menu"], [data-toasts] li')].find(
        ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth,
      )
    // What follows its place’s size needs a frame or two.
    for (let frames = 0; frames < 30 && tooWide(); frames++) await frame()
    const wide = tooWide()
    if (!wide) return []
    if (wide !== root) return [`inside ${wide.tagName} ${wide.className}`]
    return [...document.body.querySelectorAll('*')]
      .filter((element) => element.getBoundingClientRect().right > root.clientWidth + 1)
      .map((element) => `${element.tagName} ${element.className}`)
  })
  assert.deepEqual(outside, [], where)
  const room = await page.evaluate(() => {
    const bar = [...document.querySelectorAll('nav')].find((it) => getComputedStyle(it).position === 'fixed')
    const { paddingBottom = '' } = getComputedStyle(document.querySelector('main') ?? document.body)
    return bar ? Number.parseFloat(paddingBottom) - bar.getBoundingClientRect().height : 0
  })
  assert.ok(room >= 0, 'the bar at the foot covers the end of the page')
  const small = await page.locator(CONTROLS).evaluateAll((all) => {
    const isAlone = (it: Element) => it.localName !== 'a' || it.parentElement?.textContent === it.textContent
    const isSmall = (it: Element) => it.checkVisibility() && it.getBoundingClientRect().height < 44
    return all
      .filter((it) => innerWidth < 640 && isAlone(it) && isSmall(it))
      .map(({ outerHTML }) => outerHTML)
  })
  assert.deepEqual(small, [], 'smaller than a finger')
  const broken = await page.locator('.button span:not(:has(*))').evaluateAll((all) => {
    const text = document.createRange()
    const isBroken = (it: Element) => {
      text.selectNodeContents(it)
      return text.getClientRects().length > (it.textContent ?? '').split(/[\s-]+/).length
    }
    return all.filter(isBroken).map(({ textContent }) => textContent)
  })
  assert.deepEqual(broken, [], 'a word of a button on several lines')
}

/** What is pressed, but for buttons in a sentence, heads of columns, and what its label is pressed for. */
const CONTROLS = `#root a, button:not(p *, thead *), select, textarea, summary,
  label:has(input), input:not([type=radio], [type=checkbox], [type=range])`

/** Waits until the element with this name has the focus. A person presses the next key only then. */
export async function assertFocused(page: Page, name: string): Promise<void> {
  const focused = () =>
    page.evaluate(() => {
      const element = document.activeElement as HTMLElement
      return element.getAttribute('aria-label') ?? element.innerText.trim()
    })
  await eventually(async () => (await focused()) === name, {
    otherwise: () => `the focus was never on “${name}”`,
  })
}
