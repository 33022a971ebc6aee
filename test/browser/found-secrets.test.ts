import { strict as assert } from 'node:assert'
import type { Page } from 'playwright-core'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import {
  api,
  assertLooksRight,
  CLIENTS,
  createClient,
  OWNER,
  revokeClient,
  vendorApi,
  visit,
} from '../support/workspace.ts'

const NAME = 'Leaked export'
const SOURCE =
  'github.com/acme-outfitters/warehouse-export/blob/9d1f0c2a7b6e5d4c3b2a19080f7e6d5c4b3a2910/config/.env'

describe('workspace: a client secret that was found', () => {
  const client = forBlock(async () => {
    const { clientId, clientSecret } = await createClient({ name: NAME })
    await api('/v1/found-secrets', { body: [{ token: clientSecret, url: `https://${SOURCE}?raw=1` }] })
    const read = () => vendorApi(`/oauth-clients/${clientId}`)
    await eventually(async () => (await read()).secretFoundAt !== null)
    // A warning on every page would be in the way of other tests.
    return { clientId, [Symbol.asyncDispose]: () => revokeClient(clientId) }
  })

  const warning = (page: Page) =>
    page.locator('.text-bad[role="alert"]').filter({ hasText: 'A client secret was found' })
  const hrefsIn = async (page: Page) => {
    const links = await page.getByRole('alert').getByRole('link').all()
    return Promise.all(links.map((link) => link.getAttribute('href')))
  }

  it('warns in a line on each screen, accessibly at each width, and names the report in the activity', async () => {
    const { page } = await visit({ as: OWNER, path: CLIENTS })
    await warning(page).waitFor()
    await page.getByText('Secret found', { exact: true }).waitFor()
    await assertLooksRight(page)
    for (const screen of ['OAuth2 Clients', 'Callback URL', 'Analytics', 'People', 'Activity']) {
      await page.getByRole('navigation').getByRole('link', { name: screen }).click()
      await page.getByRole('heading', { name: screen, level: 1 }).waitFor()
      assert.match(await warning(page).innerText(), /^A client secret was found: Leaked export\s+Review$/)
      assert.deepEqual(await hrefsIn(page), [`${CLIENTS}/${client.clientId}`])
    }
    const entry = page.getByRole('listitem').filter({ hasText: 'marked the secret' }).first()
    await entry.getByText('the client Leaked export as found at github.com').waitFor()
  })

  it('leads to what is known of the client, with the place as text, and ends once the client is revoked', async () => {
    const { page } = await visit({ as: OWNER, path: '/ven_acme/people' })
    await warning(page).getByRole('button', { name: 'Review' }).click()
    await page.getByRole('heading', { name: NAME, level: 1 }).waitFor()
    const notice = page.getByRole('alert')
    await notice.getByText('Not used since.').waitFor()
    await notice.getByText(/Replace it first/).waitFor()
    assert.match(
      await notice.innerText(),
      /^This client’s secret was found\s+Reported .+ as found at github\.com\/acme-outfitters\/.+\/config\/\.env\./,
    )
    assert.deepEqual(await hrefsIn(page), ['/docs/rotation#if-the-secret-has-leaked'])
    await assertLooksRight(page)
    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    await warning(page).getByRole('link', { name: NAME }).click()
    const replacement = await createClient({ name: `${NAME} 2`, replaces: client.clientId })
    await page.reload()
    await notice.getByText(/^Revoke it once your systems use its replacement/).waitFor()
    await revokeClient(replacement.clientId)
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByLabel('Type the client’s name to confirm').fill(NAME)
    await page.getByRole('button', { name: 'Revoke permanently' }).click()
    await page.getByText('This client is revoked').waitFor()
    await notice.waitFor({ state: 'detached' })
  })
})
