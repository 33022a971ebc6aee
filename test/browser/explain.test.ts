import { strict as assert } from 'node:assert'
import { midnight } from '../../apps/workspace/src/api/midnight.ts'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import {
  createClient,
  forbidNewPages,
  GLOBEX_OWNER,
  OWNER,
  requestToken,
  revokeClient,
  signIn,
  untilExplained,
  vendorApi,
  visit,
} from '../support/workspace.ts'

describe('workspace: explaining a refusal', () => {
  const client = forBlock(() => createClient({ name: 'Refused' }))
  let wrongSecret: string
  before(async () => {
    wrongSecret = await untilExplained(await requestToken({ ...client, clientSecret: 'wrong' }))
  })

  it('opens the explanation from /explain/{request_id} after signing in', async () => {
    const { page } = await visit({ path: `/explain/${wrongSecret}` })
    await forbidNewPages(page)
    await signIn(page, OWNER)
    const explanation = page.getByRole('region', { name: 'Why it was refused' })
    await explanation.getByText('The client secret was wrong.').waitFor()
    await explanation.getByText('401 invalid_client').waitFor()
    assert.equal(new URL(page.url()).pathname, `/ven_acme/explain/${wrongSecret}`)
    await page.locator('nav [aria-current="page"]').getByText('OAuth2 Clients').waitFor()
    await explanation
      .locator(`a[href$="/oauth2-clients/${client.clientId}"]`, { hasText: 'Refused' })
      .waitFor()
  })

  it('accepts a request id as it is pasted, and names the missing scope, or who revoked the client and when', async () => {
    const refused = await requestToken({ ...client, scope: 'analytics:read boost:write' })
    const requestId = await untilExplained(refused)
    const gone = await createClient({ name: 'Revoked' })
    await revokeClient(gone.clientId)
    const { page } = await visit({ as: OWNER, path: '/ven_acme/explain' })
    const box = page.getByRole('textbox', { name: 'Request id' })
    await box.fill('why?')
    await page.getByRole('button', { name: 'Explain', exact: true }).click()
    await page.getByText('Paste a request id').waitFor()
    await box.and(page.locator(':focus')).waitFor()
    await box.fill(`< X-Request-Id: ${requestId}\n`)
    await box.press('Enter')
    const explanation = page.getByRole('region', { name: 'Why it was refused' })
    await explanation.getByText('The client does not have boost:write.').waitFor()
    await explanation.getByText('create a replacement client with it').waitFor()
    assert.equal(await explanation.getAttribute('aria-live'), 'polite')
    assert.equal(await box.inputValue(), requestId)
    await explanation.getByText(requestId, { exact: true }).waitFor()
    await box.fill(await untilExplained(await requestToken(gone)))
    await box.press('Enter')
    const reason = /^The client was revoked on \d+ \w+ 20\d\d at \d\d:\d\d by Olivia Brandt\./
    await explanation.getByText(reason).first().waitFor()
  })

  it('says that a request was granted, of which client it was, and what else may have come of it', async () => {
    const { requestId } = await requestToken(client)
    const listed = () => vendorApi(`/oauth-clients/${client.clientId}/requests`)
    await eventually(async () => JSON.stringify(await listed()).includes(requestId), { every_ms: 100 })
    const { page } = await visit({ as: OWNER, path: `/explain/${requestId}` })
    const outcome = page.getByRole('region', { name: 'This request was granted' })
    await outcome.getByRole('link', { name: 'Refused' }).waitFor()
    await outcome.getByText('POST /v1/oauth/token').waitFor()
    assert.equal(await outcome.getByRole('button').count(), 0)
    const day = new Date().toLocaleDateString('sv', { timeZone: 'Europe/Berlin' })
    const today_ms = midnight(day, 'Europe/Berlin').getTime()
    for (const [status, said, at_ms, time] of [
      [401, 'This request was refused; why is no longer known', today_ms, /^00:00:00$/],
      [500, 'We answered this request with an error', today_ms - 1_000, /^\d+ \w+ 20\d\d, 23:59$/],
    ] as const) {
      await page.route('**/refusals/*', async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, json: { ...(await response.json()), status, at: new Date(at_ms) } })
      })
      await page.reload()
      await page.getByRole('region', { name: said }).getByRole('rowheader', { name: time }).waitFor()
    }
  })

  it('explains nothing to another company, and no unknown request', async () => {
    const { page, baseUrl } = await visit({ as: GLOBEX_OWNER, path: `/explain/${wrongSecret}` })
    const unknown = page.getByRole('status').filter({ hasText: 'No request with this id on record' })
    await unknown.waitFor()
    await page.getByRole('heading', { name: 'This request', level: 2 }).waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Why it was refused' }).count(), 0)
    const said = await unknown.textContent()
    const member = '{"vendorId":"ven_other","role":"member","status":"active"},'
    await page.route('**/v1/session', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: (await response.text()).replace('"companies":[', `$&${member}`) })
    })
    await page.goto(`${baseUrl}/explain/${crypto.randomUUID()}`)
    await unknown.waitFor()
    assert.equal(await unknown.textContent(), said)
  })
})
