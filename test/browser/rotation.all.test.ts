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
    await page.getByText('Only a trial so far').waitFor()
    await page.getByText('So far the replacement seems only to have been tried out.').waitFor()
    assert.equal(await currentStep(page), 'Deploy it')
    await requestToken(replacement)
    await page.getByText('Asks for tokens', { exact: true }).waitFor()
    assert.equal(await currentStep(page), 'Watch token requests move over')
  })

  it('does not show a silent replacement as green, or an old client in use as quiet', async () => {
    const token = await sessionToken(OWNER)
    const old = await createClient(token, { name: 'Quiet one' })
    const replacement = await createClient(token, { name: 'Quiet one 2', replaces: old.clientId })
    for (let tokens = 0; tokens < 100; tokens++) await requestToken(old)
    await untilUsed(token, old.clientId, 100)
    tab = await visit({ sessionToken: token, path: '/favicon.svg', alone: true })
    const { page } = tab
    await page.clock.install()
    const since = new Date(Date.now() - 1_000).toISOString()
    await requestToken(replacement)
    await page.goto(`${tab.baseUrl}${CLIENTS}/${old.clientId}/rotate?since=${since}`)
    await page.getByText('In use now').waitFor()
    await page.getByText('Asks for tokens', { exact: true }).waitFor()
    await page.clock.fastForward('05:00')
    await page.getByText('Quiet for 5 minutes').waitFor()
    await page.getByText(/got 100 tokens in the last 24 hours, so a pause of 5 minutes says little/).waitFor()
    await page.clock.fastForward('11:00')
    await page.getByText('Silent for 16 minutes').waitFor()
    await page.getByText('The replacement has not asked for a token for 16 minutes.').waitFor()
    assert.equal(await page.locator('.lane.tone-good').count(), 0)
    assert.equal(await currentStep(page), 'Watch token requests move over')
  })

  it('shows what both clients of a rotation did, and waits for the hour at which the old one usually asks', async () => {
    const token = await sessionToken(OWNER)
    const old = await createClient(token, { name: 'Nightly' })
    const replacement = await createClient(token, { name: 'Nightly 2', replaces: old.clientId })
    tab = await visit({ sessionToken: token, path: '/favicon.svg' })
    const { page } = tab
    const hourOfDay = new Date(Date.now() - 3 * 3_600_000).getHours()
    await page.route(`**/oauth-clients/${old.clientId}/usage`, async (route) => {
      const response = await route.fetch()
      const usage = await response.json()
      for (const each of usage.hours) if (new Date(each.hour).getHours() === hourOfDay) each.tokens = 2
      await route.fulfill({ response, json: usage })
    })
    const since = new Date(Date.now() - 1_000).toISOString()
    await requestToken(replacement)
    await untilUsed(token, replacement.clientId)
    await page.goto(`${tab.baseUrl}${CLIENTS}/${old.clientId}/rotate?since=${since}`)
    await page
      .getByText(
        new RegExp(
          `requests tokens every (?:night|day) at ${String(hourOfDay).padStart(2, '0')}:00; that has not passed since you deployed`,
        ),
      )
      .waitFor()
    assert.equal(await currentStep(page), 'Watch token requests move over')
    const lane = page.getByRole('region', { name: 'Replacement: Nightly 2' })
    await lane.getByRole('img', { name: '7 days, by the hour: 1 token' }).waitFor()
    await lane.getByRole('img', { name: 'Last hour, by the minute: 1 token' }).waitFor()
    await lane.getByText(/^Only from /).waitFor()
    await page
      .getByRole('region', { name: 'Old: Nightly' })
      .getByRole('img', { name: /hour: 14 tokens/ })
      .waitFor()
    await assertAccessible(page)
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
    await page.getByText('Only a trial so far').waitFor()

    await page.getByRole('link', { name: 'Back to the client' }).click()
    await page.getByText('This client is being replaced').waitFor()
    await page.getByRole('link', { name: 'Left alone 2' }).click()
    await page.getByText('This client is taking over').waitFor()
    await page.getByRole('button', { name: 'Continue the rotation' }).click()
    await page.getByText('Only a trial so far').waitFor()
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

const currentStep = (page: Page) => page.locator('[aria-current="step"] h2').innerText()
