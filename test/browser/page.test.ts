import { strict as assert } from 'node:assert'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { WORKSPACE_HEADERS } from '../../infra/workspace-headers.ts'
import {
  assertAccessible,
  carrySession,
  OWNER,
  sessionToken,
  testWorkspace,
  visit,
} from '../support/workspace.ts'

const FIRST_LOAD_BYTES = 85_000

describe('workspace: the page', () => {
  it(`loads less than ${FIRST_LOAD_BYTES / 1_000} KB of gzipped script before the first screen`, async () => {
    const { stack } = await testWorkspace()
    const { page } = await visit({ alone: true })
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const loaded = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name))
    const scripts = loaded.filter((name) => name.endsWith('.js'))
    assert.ok(scripts.some((name) => name.startsWith(`${stack.baseUrl}/assets/`)))
    let bytes = 0
    for (const name of scripts) {
      const response = await fetch(name)
      assert.equal(response.status, 200)
      bytes += gzipSync(await response.arrayBuffer()).length
    }
    assert.ok(bytes > 10_000 && bytes < FIRST_LOAD_BYTES, `${bytes} bytes`)
  })

  it('preloads two fonts, both of which a page uses', async () => {
    const { page, baseUrl } = await visit({ as: OWNER, path: '/ven_acme/integrations/oauth2-clients' })
    await page.getByRole('row').nth(1).waitFor()
    const links = await page.locator('link[rel="preload"][as="font"]').all()
    assert.equal(links.length, 2)
    const used = await page.evaluate(async () => {
      await document.fonts.ready
      const loaded = [...document.fonts].filter(({ status }) => status === 'loaded')
      return loaded.map(({ family }) => family.toLowerCase().replaceAll(/"| variable/g, ''))
    })
    for (const link of links) {
      const href = (await link.getAttribute('href')) as string
      const { status, headers } = await fetch(baseUrl + href)
      assert.deepEqual([status, headers.get('content-type')], [200, 'font/woff2'])
      const isUsed = used.some((family) => href.replaceAll('-', ' ').includes(family))
      assert.ok(isUsed, `${href}: ${used}`)
    }
  })

  it('serves the page with its security headers under every address', async () => {
    const { stack } = await testWorkspace()
    for (const path of ['/', '/ven_acme/analytics', '/index.html', '/theme.js']) {
      const response = await fetch(stack.baseUrl + path)
      for (const [name, value] of Object.entries(WORKSPACE_HEADERS))
        assert.equal(response.headers.get(name), value, `${name} of ${path}`)
    }
  })

  it('runs no inline script and applies no inline style', async () => {
    const { page, baseUrl, troubles } = await visit({ path: '/favicon.svg' })
    await page.route(`${baseUrl}/`, async (route) => {
      const response = await route.fetch()
      const script = '<script>document.documentElement.dataset.ran = "yes"</script>'
      const style = '<style>body { color: rgb(1, 2, 3) }</style>'
      const body = (await response.text()).replace('</head>', `${script}${style}</head>`)
      await route.fulfill({ response, body })
    })
    await page.goto(baseUrl)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const ran = await page.evaluate(() => ({
      script: document.documentElement.dataset.ran,
      style: getComputedStyle(document.body).color === 'rgb(1, 2, 3)',
      injected: document.head.textContent?.includes('rgb(1, 2, 3)'),
    }))
    assert.deepEqual(ran, { script: undefined, style: false, injected: true })
    // What the other tests rely on: a violation is noticed.
    assert.equal(troubles.splice(0).filter((trouble) => /Content Security Policy/.test(trouble)).length, 2)
  })

  it('refuses to turn text into markup or script, or to create a policy that would', async () => {
    const { page, troubles } = await visit({ as: OWNER })
    await page.getByRole('heading', { name: 'OAuth2 Clients', level: 1 }).waitFor()
    const refused = await page.evaluate(() => {
      const attempts: Record<string, () => unknown> = {
        innerHTML: () => Reflect.set(document.createElement('p'), 'innerHTML', '<b>bold</b>'),
        text: () => Reflect.set(document.createElement('script'), 'textContent', 'document.title = "ran"'),
        src: () => Reflect.set(document.createElement('script'), 'src', '/theme.js'),
        srcdoc: () => Reflect.set(document.createElement('iframe'), 'srcdoc', '<b>bold</b>'),
        policy: () => Reflect.get(window, 'trustedTypes').createPolicy('default'),
      }
      const isRefused = (attempt: () => unknown) => {
        try {
          attempt()
          return false
        } catch (error) {
          return error instanceof TypeError
        }
      }
      return Object.keys(attempts).filter((name) => isRefused(attempts[name] as () => unknown))
    })
    assert.deepEqual(refused, ['innerHTML', 'text', 'src', 'srcdoc', 'policy'])
    assert.equal(troubles.splice(0).length, 5)
  })

  it('shows the sign-in form, and requests what a screen shows, without waiting for a timer, a frame or any other answer', async () => {
    const { page, context, baseUrl } = await visit({ path: '/favicon.svg', clock: true })
    await page.clock.pauseAt(Date.now() + 1_000)
    await page.route('**/v1/**', (route) => {
      if (/\/v1\/(?:session|sign-in)$/.test(route.request().url())) return route.continue()
    })
    await page.goto(baseUrl)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await carrySession(context, await sessionToken(OWNER), baseUrl)
    const screens = { 'integrations/oauth2-clients': '/oauth-clients', analytics: '/analytics/' }
    for (const [screen, data] of Object.entries(screens)) {
      const asked = page.waitForRequest((request) => request.url().includes(data))
      await page.goto(`${baseUrl}/ven_acme/${screen}`)
      await asked
      await page.getByRole('status').getByText('Loading').waitFor({ state: 'attached' })
    }
  })

  it('follows the system’s theme until one is chosen, and remembers the choice', async () => {
    const { page } = await visit({ as: OWNER, theme: 'dark' })
    const theme = () =>
      page.evaluate(() => {
        const [red] = /\d+/.exec(getComputedStyle(document.body).backgroundColor) ?? []
        return Number(red) < 128 ? 'dark' : 'light'
      })
    await page.getByRole('button', { name: OWNER }).click()
    assert.equal(await theme(), 'dark')
    await page.getByRole('menuitemradio', { name: 'Light' }).click()
    assert.equal(await theme(), 'light')
    await page.reload()
    assert.equal(await theme(), 'light')
    await page.getByRole('button', { name: OWNER }).click()
    await page.getByRole('menuitemradio', { name: 'System' }).click()
    assert.equal(await theme(), 'dark')
    assert.deepEqual(await page.evaluate(() => ({ ...localStorage })), {})
  })

  it('keeps the navigation when a screen’s files cannot be loaded, and loads them again on request', async () => {
    const { page, baseUrl, troubles } = await visit({ as: OWNER, path: '/favicon.svg' })
    await page.route('**/ActivityScreen-*.js', (route) => route.abort())
    await page.route('**/{Webhooks,Analytics,People}Screen-*.js', () => {})
    await page.goto(`${baseUrl}/ven_acme/activity`)
    await page.getByRole('heading', { name: 'This screen could not be shown' }).waitFor()
    await page.getByRole('status').getByText('Reload to try again').waitFor()
    await assertAccessible(page)
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Reload' }).click()])
    for (const name of ['Callback URL', 'Analytics', 'People']) {
      await page.getByRole('link', { name }).click()
      await page.locator('main .animate-pulse').first().waitFor()
    }
    await page.getByRole('link', { name: 'OAuth2 Clients' }).click()
    await page.getByRole('heading', { name: 'OAuth2 Clients', level: 1 }).waitFor()
    await page.unroute('**/ActivityScreen-*.js')
    await page.goto(`${baseUrl}/ven_acme/activity`)
    await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor()
    for (const trouble of troubles.splice(0)) assert.match(trouble, /ActivityScreen/)
  })

  it('says that it is offline, keeps what it shows, recovers, and shows a screen whose files are there without a placeholder', async () => {
    const { page, context } = await visit({ as: OWNER, path: '/ven_acme/integrations/oauth2-clients' })
    const row = page.getByRole('row').nth(1)
    await row.waitFor()
    for (const file of ['ActivityScreen', 'AnalyticsScreen']) await loaded(page, file)
    await page.waitForLoadState('networkidle')
    await context.setOffline(true)
    await page.getByRole('status').getByText('You are offline. What').waitFor()
    assert.equal(await row.isVisible(), true)
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByRole('status').getByText('This loads as soon as you are back online.').waitFor()
    await context.setOffline(false)
    await page.getByRole('listitem').filter({ hasText: 'created the client' }).first().waitFor()
    const shown = await page.evaluate(async () => {
      document.querySelector<HTMLElement>('a[aria-label="Analytics"]')?.click()
      await new Promise((resolve) => requestAnimationFrame(resolve))
      return document.querySelector('h1')?.textContent
    })
    assert.equal(shown, 'Analytics')
  })
})

/** Waits until a screen that follows the first has its file, and that has run. */
async function loaded(page: Page, file: string): Promise<void> {
  const found = await page.waitForFunction(
    (name) =>
      performance
        .getEntriesByType('resource')
        .map(({ name: url }) => url)
        .find((url) => new RegExp(`/${name}-.*js$`).test(url)),
    file,
  )
  await found.evaluate((url) => import(url as string))
}
