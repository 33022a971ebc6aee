import { strict as assert } from 'node:assert'
import type { Locator } from 'playwright-core'
import { closeReveal, readReveal } from '../support/reveal.ts'
import {
  assertAccessible,
  CLIENTS,
  createClient,
  OWNER,
  requestToken,
  untilExplained,
  untilUsed,
  vendorApi,
  visit,
} from '../support/workspace.ts'

describe('workspace: one client', () => {
  it('shows how a client’s secret ends, what the client did, and why its requests were refused', async () => {
    const client = await createClient({ name: 'With evidence' })
    for (let tokens = 0; tokens < 3; tokens++) await requestToken(client)
    await untilUsed(client.clientId, { tokens: 3 })
    await untilExplained(await requestToken({ ...client, clientSecret: `${client.clientSecret}x` }))
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${client.clientId}` })
    await page.getByText(`ends in …${client.clientSecret.slice(-4)}`).waitFor()
    const chart = page.getByRole('img', { name: /per hour\. 3 tokens issued, 1 request refused\.$/ })
    await chart.waitFor()
    await assertNoneHidden(chart)
    const refusal = page.getByRole('row').filter({ hasText: 'The client secret was wrong.' })
    const advice = `Check that the deployed secret ends in ${client.clientSecret.slice(-4)}, `
    await refusal.getByText(advice).waitFor()
    const meaning = refusal.getByRole('link', { name: 'What invalid_client means' })
    assert.equal(await meaning.getAttribute('href'), '/docs/errors#oauth-invalid_client')
    await refusal.getByRole('button', { name: /^Copy request id/ }).waitFor()
    assert.equal((await page.content()).includes(client.clientSecret), false)
  })

  it('says that nothing was copied where the browser does not allow it', async () => {
    const { clientId } = await createClient({ name: 'Not copied' })
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${clientId}` })
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error('denied'))
    })
    await page.getByRole('button', { name: 'Copy client id' }).click()
    await page.getByText('Select and copy it by hand').waitFor()
    const status = page.getByRole('status').filter({ hasText: 'Not copied' })
    assert.equal(await status.count(), 1)
    // Only what changes is read out, so it is gone before the next try.
    await status.waitFor({ state: 'detached' })
  })

  it('says that what is shown may be out of date once it cannot be read again', async () => {
    const { clientId } = await createClient({ name: 'Read once' })
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${clientId}` })
    await page.getByText('None on record.').waitFor()
    await page.route(`**/oauth-clients/${clientId}`, (route) => route.fulfill({ status: 503 }))
    await page.getByRole('status').filter({ hasText: 'This may be out of date' }).waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('This may be out of date').waitFor({ state: 'detached' })
  })

  it('shows when each scope was last used, and narrows a client by a replacement that leaves some out', async () => {
    const scopes = ['analytics:read', 'boost:write']
    const old = await createClient({ name: 'Too wide', scopes })
    await requestToken(old)
    await untilUsed(old.clientId)
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${old.clientId}` })
    const listed = page.getByRole('definition').getByRole('listitem')
    const used = listed.filter({ hasText: 'analytics:read' })
    await used.getByText(/^Last used (just now|\d+ )/).waitFor()
    await listed.filter({ hasText: 'boost:write' }).getByText('Never used', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('checkbox', { name: /^Read daily analytics.+Last used/ }).waitFor()
    const checked = dialog.getByRole('checkbox', { checked: true })
    const chosen = () => checked.evaluateAll((boxes) => boxes.map((box) => (box as HTMLInputElement).value))
    assert.deepEqual(await chosen(), scopes)
    await dialog.getByRole('checkbox', { name: /^Change boosts.+Never used$/ }).uncheck()
    await dialog.getByText(/Token requests that name boost:write will fail with invalid_scope/).waitFor()
    await assertAccessible(page)
    await dialog.getByRole('button', { name: 'Create replacement' }).click()
    const { clientId } = await readReveal(page)
    const created = await vendorApi(`/oauth-clients/${clientId}`)
    assert.deepEqual([created.scopes, created.replaces], [['analytics:read'], old.clientId])
    await closeReveal(page)
    await page.getByRole('region', { name: 'Replacement: Too wide 2' }).waitFor()
    await page.getByText('Too wide 2 lacks boost:write.').waitFor()
    const headers = { 'x-request-id': 'id-of-the-503' }
    await page.route('**/usage', (route) => route.fulfill({ status: 503, headers }))
    await page.reload()
    const back = page.getByRole('link', { name: 'Back to the client' })
    const startsRight = (arrow: SVGPathElement) => arrow.getPointAtLength(0).x > arrow.getPointAtLength(6).x
    assert.ok(await back.locator('path').evaluate(startsRight))
    await back.click()
    await listed.filter({ hasText: 'boost:write' }).getByText('Last used: –').waitFor()
    await page.locator('.text-warn').getByText('Request id-of-the-503', { exact: true }).waitFor()
  })

  it('says that a new client has done nothing yet, lists its scopes in the usual order, and renames it on every screen and in the activity', async () => {
    const scopes = ['boost:write', 'catalog:write', 'analytics:read']
    await createClient({ name: 'Before', scopes })
    const { page } = await visit({ as: OWNER, path: CLIENTS })
    await page.getByRole('link', { name: 'Before' }).click()
    await page.getByText('No tokens issued, no requests refused.').waitFor()
    const sections = await page.getByRole('region').getByRole('heading', { level: 2 }).allInnerTexts()
    assert.deepEqual(sections.slice(-3), ['Use it', 'The last 14 days', 'Requests'])
    const listed = await page.getByRole('definition').getByRole('listitem').allInnerTexts()
    const order = listed.map((text) => /\w+:\w+/.exec(text)?.[0])
    assert.deepEqual(order, ['analytics:read', 'boost:write', 'catalog:write'])

    await page.getByRole('button', { name: 'Rename' }).click()
    const dialog = page.getByRole('dialog')
    const name = dialog.getByLabel('Name')
    await name.fill(' ')
    await name.press('Enter')
    await dialog.getByText('Give it a name.').waitFor()
    await name.fill('After, <b>bold</b>')
    assert.equal(await dialog.getByText('Give it a name.').count(), 0)
    let answer = (): unknown => assert.fail('not sent')
    await page.route(/oauth-clients\/cli_\w+$/, (route) => {
      if (route.request().method() !== 'PATCH') return route.continue()
      answer = () => route.continue()
    })
    await name.press('Enter')
    await dialog.locator('button[aria-busy="true"]', { hasText: 'Save the name' }).waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await dialog.count(), 1)
    await answer()
    await page.getByRole('heading', { name: 'After, <b>bold</b>', level: 1 }).waitFor()
    // The list was read before, and shows the new name without being read again.
    await page.route(/oauth-clients\?/, () => {})
    await page.getByRole('link', { name: 'OAuth2 Clients' }).first().click()
    await page.getByRole('link', { name: 'After, <b>bold</b>' }).waitFor()
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByText('renamed the client Before to After, <b>bold</b>').waitFor()
  })
})

/** The one refused request is not drawn over the tokens of its hour. */
async function assertNoneHidden(chart: Locator): Promise<void> {
  const hidden = await chart.evaluate((svg) => {
    const tokens = svg.querySelector<SVGPathElement>('.usage-tokens')
    const refused = svg.querySelector<SVGPathElement>('.usage-refused')?.getBBox()
    if (!tokens || !refused?.height) return 'not drawn'
    const middle = new DOMPoint(refused.x + refused.width / 2, refused.y + refused.height / 2)
    return tokens.isPointInFill(middle)
  })
  assert.equal(hidden, false)
}
