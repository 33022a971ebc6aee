import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { EVERYTHING } from '../support/tier.ts'
import {
  assertAccessible,
  assertFits,
  createClient,
  OWNER,
  sessionToken,
  testWorkspace,
  type Visit,
  visit,
} from '../support/workspace.ts'

const PAGES = [
  '/docs',
  ...'token scopes analytics events webhooks rate-limits rotation revocation verify errors reference versioning changelog security'
    .split(' ')
    .map((topic) => `/docs/${topic}`),
]

/** Between them they have every part that has a colour. */
const DARK = ['/docs', '/docs/token', '/docs/errors']

describe('documentation: accessible in both themes, and as wide as the window', () => {
  let tab: Visit
  afterEach(() => tab?.leave())

  for (const path of PAGES) {
    it(`passes axe and fits every width: ${path}`, async () => {
      tab = await visit({ path })
      const { page } = tab
      for (const width of [1600, 320]) {
        await page.setViewportSize({ width, height: 800 })
        await assertFits(page)
      }
      await page.emulateMedia({ media: 'print' })
      // A4 without its margins.
      await page.setViewportSize({ width: 718, height: 1_000 })
      await assertFits(page)
      await page.emulateMedia({ media: 'screen' })
      if (path === '/docs/reference') await keepTwoSections(page)
      await assertAccessible(page)
      if (!EVERYTHING || !DARK.includes(path)) return
      // The other theme changes colours, and nothing else.
      await page.emulateMedia({ colorScheme: 'dark' })
      await assertAccessible(page, ['color-contrast'])
    })
  }
})

/** The others are made of the same parts, and axe would look at each for half a minute. */
const keepTwoSections = (page: Page) =>
  page.evaluate(() => {
    for (const element of document.querySelectorAll(
      '.page > h2:nth-of-type(n + 3), .page > h2:nth-of-type(n + 3) ~ *',
    ))
      element.remove()
  })

describe('documentation', () => {
  let tab: Visit
  afterEach(() => tab?.leave())

  const shown = (page: Page) => page.locator('.examples figure:visible figcaption').allInnerTexts()
  const names = (captions: string[]) => captions.map((caption) => caption.replace(/Copy$/i, '').trim())

  it('shows examples in one language, chosen once for all pages, by keyboard too', async () => {
    tab = await visit({ path: '/docs/events' })
    const { page } = tab
    assert.deepEqual(names(await shown(page)), ['curl'])
    await page.getByRole('radio', { name: 'curl' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    assert.deepEqual(names(await shown(page)), ['report.py'])
    await page.goto(`${tab.baseUrl}/docs/token`)
    assert.deepEqual(names(await shown(page)), ['access_token.py', 'assertion.py'])
  })

  it('copies an example as it is', async () => {
    tab = await visit({ path: '/docs/token' })
    const { page } = tab
    await page.getByRole('button', { name: 'Copy Node: access-token.mjs' }).click()
    await page.getByText('Copied').waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    assert.equal(copied, await page.locator('figure[data-language=js] code').first().textContent())
  })

  it('searches all pages of the documentation by keyboard alone', async () => {
    tab = await visit({ path: '/docs' })
    const { page } = tab
    await page.keyboard.press('/')
    await page.keyboard.type('invalid_scope')
    const first = page.locator('.results a').first()
    await first.waitFor()
    assert.match(await first.innerText(), /^Errors: invalid_scope/)
    await assertAccessible(page)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${tab.baseUrl}/docs/errors#oauth-invalid_scope`)
    await page.getByRole('searchbox').fill('no such words at all')
    await page.getByText('Nothing found').waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('.results').isVisible(), false)
  })

  it('shows the documentation in the theme that was chosen in the workspace', async () => {
    tab = await visit({ path: '/docs' })
    const { page } = tab
    const paper = () => page.evaluate(() => getComputedStyle(document.body).color)
    const light = await paper()
    await page.evaluate(() => localStorage.setItem('theme', 'dark'))
    await page.reload()
    assert.notEqual(await paper(), light)
  })

  it('requests a token with the reader’s own client, and keeps neither secret nor token', async () => {
    const { clientId, clientSecret } = await createClient(await sessionToken(OWNER), { name: 'Tried' })
    tab = await visit({ path: '/docs/token' })
    const { page, context } = tab
    const form = page.locator('.try')
    await form.getByLabel('Client id').fill(clientId)
    await form.getByLabel('Client secret').fill(`${clientSecret}x`)
    await form.getByRole('button', { name: 'Ask for a token' }).click()
    await form.getByRole('link', { name: 'What invalid_client means' }).waitFor()
    await form.getByLabel('Client secret').fill(clientSecret)
    await form.getByRole('button', { name: 'Ask for a token' }).click()
    await form.getByText('"vendor_id": "ven_acme"').waitFor()
    assert.doesNotMatch((await form.innerHTML()) + page.url(), /eyJ|ias_\w/)
    await assertAccessible(page)
    await form.getByRole('button', { name: 'Read the last 30 days' }).click()
    await form.getByText('"currency": "EUR"').waitFor()
    assert.doesNotMatch((await form.innerHTML()) + page.url(), /eyJ|ias_\w/)
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))
    assert.doesNotMatch(stored, /eyJ|ias_/)
    assert.deepEqual(await context.cookies(), [])
    await page.goto(`${tab.baseUrl}/docs`)
    await page.goBack()
    assert.equal(await form.getByLabel('Client secret').inputValue(), '')
  })

  it('shows the documentation, and switches languages, without scripts', async () => {
    const { stack, browser } = await testWorkspace()
    const context = await browser.newContext({ javaScriptEnabled: false })
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    await page.goto(`${stack.baseUrl}/docs/analytics`)
    assert.equal(await page.getByRole('searchbox').isVisible(), false)
    assert.equal(await page.getByRole('button').count(), 0)
    await page.getByRole('radio', { name: 'Go' }).check()
    assert.deepEqual(names(await shown(page)), ['daily.go'])
    await context.close()
  })
})
