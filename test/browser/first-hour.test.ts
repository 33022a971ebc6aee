import { strict as assert } from 'node:assert'
import { closeReveal, readReveal, submitClient } from '../support/reveal.ts'
import {
  api,
  assertLooksRight,
  createClient,
  createTestCompany,
  requestToken,
  visit,
} from '../support/workspace.ts'

describe('workspace: the first hour', () => {
  it('leads a new company from no figures to its first event, and claims only what the service has seen', async () => {
    const { token: sessionToken } = await createTestCompany('ven_newcompany', 'New company')
    const { page, context, baseUrl } = await visit({ sessionToken, path: '/ven_newcompany/analytics' })
    await page.getByRole('heading', { name: 'Report your first event' }).waitFor()
    assert.equal(await page.getByRole('table').count(), 0)
    assert.equal(await page.getByLabel('First day').count(), 0)
    await assertLooksRight(page)
    await page.getByRole('button', { name: 'Create a client' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Shop <b>1</b>')
    for (const scope of ['Report analytics events', 'Read daily analytics'])
      await dialog.getByRole('checkbox', { name: scope }).check()
    await submitClient(page)
    const client = await readReveal(page)
    assert.match(client.curl, /v1\/analytics\/ven_newcompany\/events/)

    await requestToken({ ...client, clientSecret: `${client.clientSecret}x`, scope: 'analytics:write' })
    const hint = client.clientSecret.slice(-4)
    await dialog.getByText(`Refused: wrong secret. It should end in …${hint}.`).waitFor()
    await dialog.getByText('Waiting for the first token request').waitFor()
    await requestToken({ ...client, scope: 'boost:read' })
    await dialog.getByText('Refused: scope not assigned. Leave it out of the token request').waitFor()
    const { body } = await requestToken({ ...client, scope: 'analytics:write' })
    const status = dialog.getByRole('status')
    await status.getByText(/Token issued at [\d:]+: the id and secret work\./).waitFor()
    const attempts = dialog.getByRole('log', { name: 'Attempts' }).getByRole('listitem')
    await attempts.first().getByText('Token issued').waitFor()
    assert.equal(await attempts.count(), 3)
    await createClient({ vendorId: 'ven_newcompany', token: sessionToken, name: 'Only reads' })
    const second = await context.newPage()
    await second.goto(`${baseUrl}/ven_newcompany/analytics`)
    await second.getByRole('heading', { name: 'Report with Shop <b>1</b>' }).waitFor()
    const code = await second.getByRole('region', { name: 'curl command' }).innerText()
    assert.match(code, new RegExp(`${client.clientId}[^/]*[\\s\\S]*/v1/analytics/ven_newcompany/events`))
    assert.doesNotMatch(code, /daily/)
    await assertLooksRight(second)
    await second.close()

    // More than are shown, so the oldest make room.
    for (let n = 0; n < 6; n++) await requestToken({ ...client, scope: 'boost:read' })
    const event = { type: 'impression', eventId: 'first', occurredAt: new Date().toISOString() }
    const token = String(body.access_token)
    await api('/v1/analytics/ven_newcompany/events', { token, body: { events: [event] } })
    await dialog.getByText('Granted: POST /v1/analytics/{vendorId}/events').waitFor()
    await assertLooksRight(page)
    await closeReveal(page)
    await page.getByRole('link', { name: 'Analytics' }).click()
    await page.getByRole('radio', { name: 'Impressions 1' }).waitFor({ state: 'attached' })
  })
})
