import { strict as assert } from 'node:assert'
import type { Route } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { closeReveal, fillClient, readReveal, submitClient } from '../support/reveal.ts'
import {
  api,
  assertFits,
  CLIENTS,
  createClient,
  createTestCompany,
  newSession,
  OWNER,
  requestToken,
  untilReadAgain,
  untilReported,
  visit,
} from '../support/workspace.ts'

describe('workspace: Integrations, OAuth2 Clients', () => {
  it('takes a client the whole way: create, secret, token, analytics, rotate, revoke, token refused', async () => {
    const { page, baseUrl } = await visit({ as: OWNER, path: CLIENTS, clock: true })
    await fillClient(page, 'Whole way', 'Read daily analytics')
    await submitClient(page)
    const old = await readReveal(page)
    assert.match(old.curl, new RegExp(`${baseUrl}/v1/oauth/token[^]*${old.clientSecret}`))
    const token = String((await requestToken(old)).body.access_token)
    await page.getByText(/Token issued at .*: the id and secret work/).waitFor()
    assert.equal((await api('/v1/analytics/ven_acme/daily', { token })).days.length, 30)
    await closeReveal(page)
    // In one look: the list knows what the dialog learned.
    const row = await page.getByRole('row').filter({ hasText: 'Whole way' }).innerText()
    assert.match(row, /just now/)
    assert.doesNotMatch(row, /Never used/)

    await page.getByRole('link', { name: 'Whole way' }).click()
    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    await page.getByRole('button', { name: 'Create replacement' }).click()
    const dialog = page.getByRole('dialog')
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'Whole way 2')
    await dialog.getByRole('button', { name: 'Create replacement' }).click()
    const replacement = await readReveal(page)
    await closeReveal(page)
    await page.getByText('Never used.', { exact: true }).waitFor()
    assert.equal((await requestToken(replacement)).status, 200)
    await untilReadAgain(page, page.getByText(/^Last used on .* First used on /))

    await page.getByRole('button', { name: 'Revoke Whole way', exact: true }).click()
    await dialog.getByText(/^Last used .+ ago\.|^Last used just now\./).waitFor()
    await dialog.getByLabel(/Type the client/).fill('Whole way')
    // A read that begins before is answered after.
    const read = Promise.withResolvers<() => Promise<void>>()
    const late = async (route: Route) => {
      const response = await route.fetch()
      read.resolve(() => route.fulfill({ response }).catch(() => {}))
    }
    const continued = (route: Route) => route.continue()
    await page.route(`**/oauth-clients/${old.clientId}`, continued)
    await page.route(`**/oauth-clients/${old.clientId}`, late, { times: 1 })
    const answer = await read.promise
    await dialog.getByRole('button', { name: 'Revoke permanently' }).click()
    await page.getByText('This client is revoked').waitFor()
    // Longer than one without a link, but not for long.
    const toast = page.getByRole('listitem').filter({ hasText: 'See requests since' })
    await page.clock.fastForward(5_500)
    assert.equal(await toast.count(), 1)
    await answer()
    await untilReported(page)
    assert.equal(await page.getByText('This client is revoked').count(), 1)
    await page.getByText(/^No requests on record since/).waitFor()
    assert.deepEqual((await requestToken(old)).body.error, 'invalid_client')
    assert.equal((await api('/v1/analytics/ven_acme/daily', { token })).code, 'invalid_token')
    const since = page.getByText(/^2 requests on record since .*, none accepted, the last from /)
    await untilReadAgain(page, since)
    await toast.waitFor({ state: 'detached' })
    assert.equal((await requestToken(replacement)).status, 200)
  })

  it('keeps a new secret on the screen when the session ends before it is saved', async () => {
    const token = await newSession(OWNER)
    const { page } = await visit({ sessionToken: token, path: CLIENTS })
    await fillClient(page, 'Session ends', 'Read boosts')
    await submitClient(page)
    const { clientSecret } = await readReveal(page)
    await api('/v1/session', { token, method: 'DELETE' })
    await page.getByRole('status').getByText('Save the secret before you sign in again').waitFor()
    assert.equal(await page.getByText(clientSecret, { exact: true }).isVisible(), true)
    await closeReveal(page)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.equal((await page.content()).includes(clientSecret), false)
  })

  it('shows names as text, whatever is in them, and a long one whole at each width', async () => {
    const name = `${'Weekly payroll of every warehouse and shop, '.repeat(2)}2`
    const names = ['<img src=x onerror=alert(1)>', 'تقارير المستودع', 'ж'.repeat(100), name]
    for (const each of names) await createClient({ name: each })
    const { page } = await visit({ as: OWNER, path: CLIENTS })
    for (const each of names) await page.getByRole('link', { name: each, exact: true }).waitFor()
    assert.equal(await page.getByRole('main').locator('img').count(), 0)
    for (const width of [1440, 860, 360]) {
      await page.setViewportSize({ width, height: 740 })
      const cut = await page
        .getByRole('rowheader')
        .evaluateAll((cells) => cells.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth))
      assert.equal(cut.length, 0)
      await assertFits(page)
    }
  })

  it('lists 58 clients above the fold beside two found secrets, with names of up to 32 characters on one line at each width', async () => {
    const crowded = await createTestCompany('ven_crowded', 'Crowded')
    // Each has a mark of its own, and gives the list a column more.
    const expiresAt = new Date(Date.now() + 20 * 86_400_000).toISOString()
    for (const name of NAMES) await createClient({ ...crowded, name, expiresAt })
    const url = `https://github.com/globex-supply/export/blob/${'9d1f0c2a'.repeat(5)}/config/.env`
    for (const name of ['Leaked export, production', 'Leaked import, production']) {
      const { clientSecret } = await createClient({ ...crowded, name })
      await api('/v1/found-secrets', { body: [{ token: clientSecret, url }] })
    }
    const path = '/ven_crowded/integrations/oauth2-clients'
    const { page } = await visit({ sessionToken: crowded.token, path })
    await page.getByText('2 client secrets were found').waitFor()
    assert.equal(await page.getByText(/secrets were found/).count(), 1)
    const firstRow = page.getByRole('row').nth(1)
    await firstRow.waitFor()
    for (const [width, height] of [
      [1280, 900],
      [390, 844],
    ] as const) {
      await page.setViewportSize({ width, height })
      const top = (await firstRow.boundingBox())?.y ?? height
      assert.ok(top < 0.7 * height, `${width} × ${height}: the first client is at ${top} px`)
    }
    // A client with two marks has a line more than its name.
    await page.setViewportSize({ width: 1440, height: 900 })
    const row = await firstRow.boundingBox()
    assert.ok((row?.height ?? 99) < 70, `a row is ${row?.height} px high`)
    for (let width = 900; width <= 1920; width += 40) {
      await page.setViewportSize({ width, height: 900 })
      const cut = await page.evaluate(countCutNames, NAMES)
      assert.ok(cut <= NAMES.length / 20, `${cut} names are cut at ${width} px`)
    }
    await page.getByRole('button', { name: 'Review' }).click()
    await page.waitForURL('**/oauth2-clients?show=found')
    await page.getByRole('button', { name: 'Copy client id of Leaked export, production' }).click()
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^cli_/)
  })

  it('says why a client is not created where a phone shows it', async () => {
    const { page } = await visit({ as: OWNER, path: CLIENTS, width: 390, height: 844 })
    const dialog = await fillClient(page, 'One too many', 'Read boosts')
    const json = { code: 'client_limit_reached', detail: 'A company can have 100 active clients.' }
    await page.route('**/oauth-clients', (route) => route.fulfill({ status: 409, json }), { times: 1 })
    await submitClient(page)
    const refused = dialog.getByRole('alert').filter({ hasText: 'Your company has too many active clients' })
    await refused.getByText('A company can have 100 active clients.').waitFor()
    // It is scrolled to once it is there.
    let place = ''
    const isInView = async () => {
      const { y, height } = (await refused.boundingBox()) as { y: number; height: number }
      const foot = (await dialog.locator('footer').boundingBox()) as { y: number }
      place = `from ${y} to ${y + height}`
      return y >= 0 && y + height <= foot.y
    }
    await eventually(isInView, { otherwise: () => `not in view, but ${place}` })
  })
})

const SYSTEMS = `Power BI gateway,ERP order import,Warehouse stock sync,Nightly ETL,Looker dashboards,
Snowflake loader,Data lake export,Marketing attribution,Shopify connector,Returns reconciliation,
Fraud scoring,Lagerbestandsabgleich,Mobile app backend,svc-airflow-worker,Weekly finance report`
/** 56, of up to 32 characters. */
const NAMES = ['production', 'staging', 'EU', 'US']
  .flatMap((place) => SYSTEMS.split(/,\s*/).map((system) => `${system}, ${place}`))
  .filter((name) => name.length <= 32)

/** Returns how many of the names are not whole on one line. */
function countCutNames(names: string[]): number {
  const links = [...document.querySelectorAll('tbody th a')].filter((a) => names.includes(a.textContent))
  if (links.length !== names.length) throw new Error(`${links.length} names`)
  return links.filter(({ scrollWidth, clientWidth, firstElementChild: text }) => {
    return scrollWidth > clientWidth || (text?.getClientRects().length ?? 0) > 1
  }).length
}
