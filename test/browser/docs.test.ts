import assert from 'node:assert/strict'
import { TOPICS } from '../../apps/api/discovery/docs/topics.ts'
import { EVERYTHING } from '../support/tier.ts'
import { assertAccessible, assertFits, testWorkspace, visit } from '../support/workspace.ts'

/** Of the reference, the list and one tag. */
const PAGES = [
  ...TOPICS.filter(({ tag = 'Analytics' }) => tag === 'Analytics').map(({ slug }) =>
    `/docs/${slug}`.replace('/index', ''),
  ),
  '/docs/no-such-page',
]

/** Between them they have every part that has a colour. */
const DARK = ['/docs', '/docs/token', '/docs/errors', '/docs/reference/analytics']

describe('documentation: accessible in both themes, and as wide as the window', () => {
  for (const path of PAGES)
    it(`passes axe and fits every width: ${path}`, async () => {
      const { page } = await visit({ path })
      for (const width of [1600, 320]) {
        await page.setViewportSize({ width, height: 800 })
        await assertFits(page)
      }
      await page.emulateMedia({ media: 'print' })
      // A4 without its margins.
      await page.setViewportSize({ width: 718, height: 1_000 })
      await assertFits(page)
      await page.emulateMedia({ media: 'screen' })
      await assertAccessible(page)
      if (!EVERYTHING || !DARK.includes(path)) return
      // The other theme changes colours, and nothing else.
      await page.emulateMedia({ colorScheme: 'dark' })
      await assertAccessible(page, ['color-contrast'])
    })
})

describe('documentation', () => {
  it('copies an example as it is, says so, and has all topics behind the title of the page on a narrow screen', async () => {
    const { page } = await visit({ path: '/docs/token' })
    await page.locator('summary', { hasText: 'Node' }).click()
    await page.getByRole('button', { name: 'Copy Node: access-token.mjs' }).click()
    await page.getByRole('button', { name: 'Copied Node: access-token.mjs' }).waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    assert.equal(copied, await page.locator('figure[data-kind=js] code').first().textContent())
    await page.getByRole('button', { name: 'Copy Node: access-token.mjs' }).waitFor()

    const topics = page.getByRole('navigation', { name: 'Documentation' }).getByRole('link')
    const wide = await topics.count()
    assert.ok(wide > 20)
    await page.setViewportSize({ width: 390, height: 800 })
    assert.equal(await topics.count(), 0)
    await page.locator('.nav summary', { hasText: 'Get a token' }).press('Enter')
    assert.equal(await topics.count(), wide)
    await assertFits(page)
    await assertAccessible(page)
  })

  it('runs no script but the one that copies, not even one of its own origin', async () => {
    const { page, baseUrl, troubles } = await visit({ path: '/favicon.svg' })
    await page.route('**/docs', async (route) => {
      const response = await route.fetch()
      const body = (await response.text()).replace('<script', '<script src="/theme.js"></script><script')
      await route.fulfill({ response, body })
    })
    await page.goto(`${baseUrl}/docs`)
    await page.getByRole('button', { name: 'Copy .env' }).waitFor()
    const [violation, ...others] = troubles.splice(0)
    assert.match(violation ?? '', /theme\.js' violates the following Content Security Policy directive/)
    assert.deepEqual(others, [])
  })

  it('shows one language of an example at a time, by keyboard too, without scripts', async () => {
    const { stack, browser } = await testWorkspace()
    const context = await browser.newContext({ javaScriptEnabled: false })
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    await page.goto(`${stack.baseUrl}/docs/analytics`)
    const shown = () => page.locator('.languages figure:visible figcaption').allInnerTexts()
    assert.equal(await page.getByRole('button').count(), 0)
    assert.deepEqual(await shown(), ['curl'])
    await page.locator('.languages summary', { hasText: 'Go' }).focus()
    await page.keyboard.press('Enter')
    assert.deepEqual(await shown(), ['daily.go'])
    await context.close()
  })
})
