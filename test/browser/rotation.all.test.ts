import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { closeReveal, revealed } from '../support/reveal.ts'
import {
  ADMIN,
  api,
  assertAccessible,
  createClient,
  OWNER,
  requestToken,
  sessionToken,
  untilUsed,
  type Visit,
  visit,
} from '../support/workspace.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'

describe('workspace: the rotation of a client', function () {
  this.timeout(60_000)
  let tab: Visit
  afterEach(() => tab?.leave())

  /** Opens a tab in which the service's judgement of a new pair has other evidence, or is an error. */
  async function judged(name: string, evidence: object | number): Promise<{ page: Page; old: string }> {
    const token = await sessionToken(OWNER)
    const { clientId: old } = await createClient(token, { name })
    await createClient(token, { name: `${name} 2`, replaces: old })
    tab = await visit({ sessionToken: token, path: '/favicon.svg' })
    await tab.page.route(`**/oauth-clients/${old}/rotation`, async (route) => {
      if (typeof evidence === 'number') return route.fulfill({ status: evidence })
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), ...evidence } })
    })
    return { page: tab.page, old }
  }

  it('counts a token from before the secret was put away as a trial, not as a deployment', async () => {
    const old = await createClient(await sessionToken(OWNER), { name: 'Only tried' })
    await requestToken(old)
    tab = await visit({ as: OWNER, path: `${CLIENTS}/${old.clientId}/rotate` })
    const { page } = tab
    await page.getByText('Do this last, when the replacement has taken over.').waitFor()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create replacement' }).click()
    const replacement = await revealed(page)
    await requestToken(replacement)
    await page.getByText(/the id and secret work/).waitFor()
    await closeReveal(page, 'Continue the rotation')
    await page.getByText('Test requests only so far').waitFor()
    assert.equal(await currentStep(page), 'Deploy it')
    const token = await sessionToken(OWNER)
    const { secretPutAwayAt } = await api(`/v1/vendor/ven_acme/oauth-clients/${old.clientId}/rotation`, {
      token,
    })
    assert.equal(typeof secretPutAwayAt, 'string')
    assert.equal(page.url().includes('?'), false)
  })

  it('shows the state, the rehearsal and who armed it as the service says them, wherever one can revoke', async () => {
    const { page, old } = await judged('Nightly', WAITING)
    await page.goto(`${tab.baseUrl}${CLIENTS}/${old}/rotate`)
    await page.getByText(/paused for up to 24 hours before/).waitFor()
    assert.equal(await currentStep(page), 'Watch token requests move over')
    const would = 'If revoked now: 2 addresses, about 4 tokens an hour would fail'
    await page.getByText(would).waitFor()
    await page.getByRole('listitem').filter({ hasText: '203.0.113.7' }).getByText('not yet moved').waitFor()
    await assertAccessible(page)

    const arm = page.getByRole('button', { name: /^Revoke when .* has passed without the old secret$/ })
    await arm.focus()
    await page.keyboard.press('Enter')
    await page.getByText(/^Armed by you on /).waitFor()
    const disarm = page.getByRole('button', { name: 'Disarm' })
    assert.equal(await disarm.evaluate((button) => button === document.activeElement), true)
    await assertAccessible(page)
    await page.keyboard.press('Enter')
    await arm.waitFor()

    await page.getByRole('button', { name: 'Revoke the old client' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('It may still be in use').waitFor()
    await dialog.getByText(would).waitFor()
    await assertAccessible(page)
    await page.goto(`${tab.baseUrl}${CLIENTS}/${old}`)
    await page.getByText('This client is being replaced').waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or jump to' }).fill('revoke nightly')
    await page.getByRole('option', { name: 'Revoke Nightly', exact: true }).click()
    await dialog.getByText(would).waitFor()
    await page.goto(`${tab.baseUrl}${CLIENTS}`)
    await page.getByText('May still be used').waitFor()
    await page.getByRole('button', { name: 'Actions for Nightly', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await dialog.getByText(would).waitFor()
  })

  it('says that it does not know while the service cannot say', async () => {
    const { page, old } = await judged('Not known', 503)
    await page.goto(`${tab.baseUrl}${CLIENTS}/${old}/rotate`)
    await page.getByText('If revoked now: unknown. Its usage cannot be read.').waitFor()
    assert.equal(await page.getByText('Usage unknown').count(), 2)
    assert.equal(await page.locator('.lane.tone-good').count(), 0)
    assert.equal(await page.locator('.step-done').count(), 1)
    tab.troubles.length = 0
  })

  it('offers a replacement without the scopes that were not used for 30 days', async () => {
    const token = await sessionToken(OWNER)
    const old = await createClient(token, { name: 'Too wide', scopes: ['analytics:read', 'boost:write'] })
    await requestToken(old)
    await untilUsed(token, old.clientId)
    tab = await visit({ sessionToken: token, path: '/favicon.svg' })
    const { page } = tab
    await page.route(`**/oauth-clients/${old.clientId}`, async (route) => {
      const response = await route.fetch()
      await route.fulfill({
        response,
        json: { ...(await response.json()), createdAt: '2026-01-01T00:00:00.000Z' },
      })
    })
    await page.goto(`${tab.baseUrl}${CLIENTS}/${old.clientId}`)
    await page.getByText('One scope was not used in 30 days').waitFor()
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Make a narrower replacement' }).click()
    await page.getByText('Left out, because no token had it in 30 days: boost:write.').waitFor()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Scopes, fewer than before').waitFor()
    await dialog.getByRole('button', { name: 'Create replacement' }).click()
    const { clientId } = await revealed(page)
    const made = await api(`/v1/vendor/ven_acme/oauth-clients/${clientId}`, { token })
    assert.deepEqual([made.scopes, made.replaces], [['analytics:read'], old.clientId])
    await closeReveal(page, 'Continue the rotation')
  })

  it('lets a teammate see a rotation in the list and on both clients, and resume it', async () => {
    const old = await createClient(await sessionToken(OWNER), { name: 'Left alone' })
    tab = await visit({ as: OWNER, path: `${CLIENTS}/${old.clientId}/rotate` })
    await tab.page.getByRole('button', { name: 'Create replacement' }).click()
    await tab.page.getByRole('dialog').getByRole('button', { name: 'Create replacement' }).click()
    const replacement = await revealed(tab.page)
    await closeReveal(tab.page, 'Continue the rotation')
    await tab.page.getByText('No token request yet').waitFor()
    await tab.leave()

    tab = await visit({ as: ADMIN, path: CLIENTS })
    const { page } = tab
    await page.getByRole('link', { name: 'Taking over from Left alone' }).waitFor()
    await page.getByRole('link', { name: 'Being replaced by Left alone 2' }).click()
    await page.getByText('No token request yet').waitFor()
    assert.equal(await currentStep(page), 'Deploy it')
    assert.equal(await page.getByRole('button', { name: 'Create replacement' }).count(), 0)
    await requestToken(replacement)
    await page.getByText('Test requests only so far').waitFor()

    await page.getByRole('link', { name: 'Back to the client' }).click()
    await page.getByText('This client is being replaced').waitFor()
    await page.getByRole('link', { name: 'Left alone 2' }).click()
    await page.getByText('This client is taking over').waitFor()
    await page.getByRole('button', { name: 'Continue the rotation' }).click()
    await page.getByText('Test requests only so far').waitFor()
    assert.match(page.url(), new RegExp(`${old.clientId}/rotate$`))
  })

  it('starts a rotation again after its replacement was revoked', async () => {
    const token = await sessionToken(OWNER)
    const old = await createClient(token, { name: 'Begun twice' })
    const first = await createClient(token, { name: 'Begun twice 2', replaces: old.clientId })
    await api(`/v1/vendor/ven_acme/oauth-clients/${first.clientId}/revoke`, { token, method: 'POST' })
    tab = await visit({ sessionToken: token, path: `${CLIENTS}/${old.clientId}/rotate` })
    const { page } = tab
    await page.getByText('The last replacement was revoked').waitFor()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    const dialog = page.getByRole('dialog')
    // Meanwhile a teammate does the same.
    await createClient(token, { name: 'Begun twice 3', replaces: old.clientId })
    await dialog.getByRole('button', { name: 'Create replacement' }).click()
    await dialog.getByText('This client can no longer be replaced').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('No token request yet').waitFor()
    await page.getByRole('link', { name: 'Begun twice 3' }).waitFor()
  })
})

const WAITING = {
  state: 'waiting',
  evidenceSince: at(-14),
  lastUsedAt: at(-0.5),
  longestGapSeconds: 86_400,
  expectedNextUseAt: at(0.5),
  safeFrom: at(0.75),
  addresses: [
    { address: '198.51.100.7', lastUsedAt: at(-0.6), move: 'moved' },
    { address: '203.0.113.7', lastUsedAt: at(-0.5), move: 'not_yet' },
  ],
  ifRevokedNow: { addresses: 2, tokensAnHour: 4.2 },
}

function at(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString()
}

const currentStep = (page: Page) => page.locator('[aria-current="step"] h2').innerText()
