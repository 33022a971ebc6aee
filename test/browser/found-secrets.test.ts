import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { connectedDatabase } from '../support/stores.ts'
import {
  api,
  assertAccessible,
  assertFits,
  createClient,
  leaveVisits,
  OWNER,
  requestToken,
  sessionToken,
  testStack,
  untilUsed,
  visit,
} from '../support/workspace.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'
const NAME = 'Leaked export'
const SOURCE =
  'github.com/acme-outfitters/warehouse-export/blob/9d1f0c2a7b6e5d4c3b2a19080f7e6d5c4b3a2910/config/.env'

describe('workspace: a client secret that was found', () => {
  let token: string
  let clientId: string
  let clientSecret: string

  before(async () => {
    token = await sessionToken(OWNER)
    const client = await createClient(token, { name: NAME })
    clientId = client.clientId
    clientSecret = client.clientSecret
    await api('/v1/found-secrets', { body: [{ token: client.clientSecret, url: `https://${SOURCE}?raw=1` }] })
    const path = `/v1/vendor/ven_acme/oauth-clients/${clientId}`
    await eventually(async () => (await api(path, { token })).secretFoundAt !== null)
  })
  // A warning on every page would be in the way of other tests.
  after(() => api(`/v1/vendor/ven_acme/oauth-clients/${clientId}/revoke`, { token, method: 'POST' }))
  afterEach(leaveVisits)

  async function enter(path: string): Promise<Page> {
    const { page } = await visit({ as: OWNER, path })
    return page
  }
  const warning = (page: Page) => page.getByRole('alert').filter({ hasText: 'A client secret was found' })

  it('warns in a line on each screen, accessibly at each width, and names the report in the activity', async () => {
    const page = await enter(CLIENTS)
    await warning(page).waitFor()
    await page.getByText('Secret found', { exact: true }).waitFor()
    await assertLooks(page)
    for (const screen of ['OAuth2 Clients', 'Callback URL', 'Analytics', 'People', 'Activity']) {
      await page.getByRole('navigation').getByRole('link', { name: screen }).click()
      await page.getByRole('heading', { name: screen, level: 1 }).waitFor()
      await warning(page).getByRole('button', { name: 'Review' }).waitFor()
      assert.match(await warning(page).innerText(), /^A client secret was found: Leaked export\s+Review$/)
      const links = await warning(page).getByRole('link').all()
      assert.deepEqual(await Promise.all(links.map((link) => link.getAttribute('href'))), [
        `${CLIENTS}/${clientId}`,
      ])
    }
    const entry = page.getByRole('listitem').filter({ hasText: 'marked the secret' }).first()
    await entry.waitFor()
    assert.match(
      await entry.innerText(),
      /service marked the secret of the client Leaked export as found at github\.com/,
    )
  })

  it('leads to what is known of the client, with the place as text, and ends once the client is revoked', async () => {
    const page = await enter('/ven_acme/people')
    await warning(page).getByRole('button', { name: 'Review' }).click()
    await page.getByRole('heading', { name: NAME, level: 1 }).waitFor()
    const notice = page.getByRole('alert')
    await notice.getByText('Not used since.').waitFor()
    assert.match(
      await notice.innerText(),
      /^This client’s secret was found\s+Reported .+ as found at github\.com\/acme-outfitters\/.+\/config\/\.env\./,
    )
    const links = await notice.getByRole('link').all()
    assert.deepEqual(await Promise.all(links.map((link) => link.getAttribute('href'))), [
      '/docs/rotation#if-the-secret-has-leaked',
    ])
    await assertLooks(page)
    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    await warning(page).getByRole('link', { name: NAME }).click()
    await requestToken({ clientId, clientSecret })
    await untilUsed(token, clientId)
    await page.reload()
    await notice.getByText(/Used since from/).waitFor()
    assert.match(
      await notice.innerText(),
      /Used since from (127\.0\.0\.1|::\/64) \(first seen \d+ seconds? after the report\)\./,
    )
    const { stores } = await testStack()
    await using db = connectedDatabase(stores.postgres.ownerUrl)
    await db('client_address_usage').where({ client_id: clientId }).delete()
    await page.reload()
    await notice.getByText(/Used since, the last time (just now|\d+ minutes? ago)\./).waitFor()
    await notice.getByText(/Replace it first/).waitFor()
    const replacement = await createClient(token, { name: `${NAME} 2`, replaces: clientId })
    await page.reload()
    await notice.getByText(/^Revoke it once your systems use its replacement/).waitFor()
    const path = `/v1/vendor/ven_acme/oauth-clients/${replacement.clientId}/revoke`
    await api(path, { token, method: 'POST' })
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByLabel('Type the client’s name to confirm').fill(NAME)
    await page.getByRole('button', { name: 'Revoke permanently' }).click()
    await page.getByText('This client is revoked').waitFor()
    await page.getByText(/^No requests on record since .*\d\.$/).waitFor()
    await notice.waitFor({ state: 'detached' })
  })
})

async function assertLooks(page: Page): Promise<void> {
  await assertAccessible(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  await assertAccessible(page, ['color-contrast'])
  for (const width of [320, 390, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    await assertFits(page)
  }
}
