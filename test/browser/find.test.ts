import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { forBlock } from '../support/block.ts'
import {
  createClient,
  createTestCompany,
  forbidNewPages,
  invite,
  join,
  requestToken,
  revokeClient,
  untilExplained,
  untilUsed,
  visit,
} from '../support/workspace.ts'

const CLIENTS = '/ven_finding/integrations/oauth2-clients'

describe('workspace: finding', () => {
  // What is found depends on every client of the company.
  const company = forBlock(() => createTestCompany('ven_finding', 'Finding'))
  const create = (name: string, scopes?: string[]) =>
    createClient({ ...company, name, ...(scopes && { scopes }) })
  let used: { clientId: string; clientSecret: string }
  before(async () => {
    await create('Another')
    used = await create('Zebra 2', ['analytics:read', 'boost:write'])
    await requestToken(used)
    await untilUsed(used.clientId, company)
    await create('Zébra 10')
    await revokeClient((await create('Zebra revoked')).clientId, company)
  })

  const names = (page: Page) => page.getByRole('rowheader').getByRole('link').allInnerTexts()
  const show = (page: Page, label: string) =>
    page.getByRole('radio', { name: new RegExp(`^${label}`) }).check({ force: true })

  it('finds a client by its name, with or without accents, and keeps the search when the page is loaded again', async () => {
    const { page } = await visit({ sessionToken: company.token, path: CLIENTS })
    await page.getByRole('row').nth(1).waitFor()
    // Back leads to the screen before.
    await forbidNewPages(page)
    await page.getByRole('searchbox').fill('zebra')
    await page.getByRole('row').nth(3).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Create client' }).click()
    await page.getByRole('dialog').press('Escape')
    await page.waitForURL('**/oauth2-clients?q=zebra')
    assert.deepEqual(await names(page), ['Zébra 10', 'Zebra 2'])
    await show(page, 'Revoked')
    assert.deepEqual(await names(page), ['Zebra revoked'])
    await page.reload()
    await page.getByRole('row').nth(1).waitFor()
    assert.deepEqual(await names(page), ['Zebra revoked'])
    await page.getByRole('searchbox').press('Escape')
    await page.waitForURL('**/oauth2-clients?show=revoked')
  })

  it('finds a revoked client on whichever page of the answers it is', async () => {
    const adam = { name: 'Adam', email: 'admin@finding.example', role: 'admin' }
    const { sessionToken } = await join(await invite(adam, company))
    for (const name of ['Revoked second', 'Revoked third'])
      await revokeClient((await create(name)).clientId, { ...company, token: sessionToken })
    const { page, baseUrl } = await visit({ sessionToken: company.token, path: '/favicon.svg' })
    // In place of the 200 that one answer has: a page of one client each.
    const shown = Promise.withResolvers<void>()
    await page.route('**/oauth-clients?*status=Revoked*', async (route) => {
      const url = route.request().url()
      if (url.includes('cursor=')) await shown.promise
      await route.continue({ url: url.replace('limit=200', 'limit=1') })
    })
    await page.route('**/*status=Revoked*', (route) => route.fulfill({ status: 429 }), { times: 1 })
    await page.goto(`${baseUrl}${CLIENTS}?show=revoked&q=revoked`)
    await page.getByRole('button', { name: 'Try again' }).click()
    for (const name of [/^Revoked 1\+$/, /^All \d\+$/])
      await page.getByRole('radio', { name }).waitFor({ state: 'attached' })
    shown.resolve()
    const third = page.getByRole('row', { name: /Revoked third/ }).getByText('Revoked just now')
    await third.getByTitle(/, by Adam$/).waitFor()
    await page.getByRole('row', { name: /Zebra revoked/ }).waitFor()
  })

  it('leads to a refused request or the documentation with Ctrl+K', async () => {
    const requestId = await untilExplained(await requestToken({ ...used, clientSecret: 'wrong' }), company)
    const { page } = await visit({ sessionToken: company.token, path: '/ven_finding/activity' })
    const input = page.getByRole('combobox', { name: 'Search or jump to' })
    const open = async (typed: string) => {
      await page.keyboard.press('Meta+K')
      await input.fill(typed)
    }
    const selects = async (name: RegExp) => {
      const option = page.getByRole('option', { name, selected: true })
      const id = await option.getAttribute('id')
      assert.equal(await input.getAttribute('aria-activedescendant'), id)
    }
    await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor()
    await page.evaluate(() => window.dispatchEvent(new Event('keydown')))
    await open(`X-Request-Id: ${requestId}`)
    await selects(/^Explain this request/)
    await page.keyboard.press('Enter')
    await page.getByText('The client secret was wrong.').waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'OAuth2 Clients' }).click()
    await page.getByRole('button', { name: 'Create client' }).click()
    await page.getByRole('dialog', { name: 'Create a client' }).waitFor()
    await page.keyboard.press('Control+k')
    assert.equal(await page.getByRole('dialog').count(), 1)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    await page.getByRole('button', { name: /^Search/ }).click()
    await page.keyboard.press('Escape')
    await page.locator('button:focus').filter({ hasText: 'Search' }).waitFor()
    // It leads to the page that is there.
    await open('oauth2 clients')
    await page.keyboard.press('Enter')
    await page.locator('h1:focus').waitFor()
    await create('Analytics import')
    await page.reload()
    // The keys are heard once the page is there.
    await page.getByRole('button', { name: /^Search/ }).waitFor()
    await open('analytics')
    await page.getByRole('option', { name: /^Analytics import/ }).waitFor()
    await selects(/^Analytics$/)
    await input.fill('analytic')
    await selects(/^Analytics import/)
    await input.fill('api docs')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs')
  })
})
