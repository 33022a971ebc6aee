import { strict as assert } from 'node:assert'
import type { Locator } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import {
  CLIENTS,
  createClient,
  OWNER,
  requestToken,
  testStack,
  vendorApi,
  visit,
} from '../support/workspace.ts'

describe('workspace: the requests of a client', () => {
  it('lists them, filtered by keyboard, and explains the refused', async () => {
    const client = await createClient({ name: 'Listed', scopes: ['analytics:read', 'boost:read'] })
    const list = async () => (await vendorApi(`/oauth-clients/${client.clientId}/requests`)).requests
    const untilListed = (count: number) => eventually(async () => (await list()).length === count)
    const { baseUrl } = await testStack()
    const wrong = () => requestToken({ ...client, clientSecret: 'wrong' })
    const first = await wrong()
    const { body } = await requestToken({ ...client, scope: 'analytics:read' })
    const authorization = `Bearer ${body.access_token}`
    const read = (search = '', headers = {}) =>
      fetch(`${baseUrl}/v1/analytics/ven_acme/daily${search}`, { headers: { authorization, ...headers } })
    const etag = (await read()).headers.get('etag')
    assert.equal((await read('', { 'if-none-match': etag })).status, 304)
    const refused = (await read('?from=never')).headers.get('x-request-id') ?? ''
    await wrong()
    const { requestId } = await wrong()
    await untilListed(7)
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${client.clientId}`, width: 1440 })
    const section = page.getByRole('region', { name: 'Requests', exact: true })
    const rows = section.getByRole('row').filter({ has: page.getByRole('rowheader') })
    await rows.first().waitFor()
    const answerOf = async (row: Locator) =>
      (await row.getByRole('cell').first().innerText()).replace(/\s*, why request [\s\S]*/, '')
    const answers = async () => Promise.all((await rows.all()).map(answerOf))
    assert.deepEqual(await answers(), ['401 invalid_client', '422 invalid_input', '304', '200', '200'])
    const { at } = (await list()).find((request: typeof first) => request.requestId === first.requestId)
    const since = rows.first().getByText(/^3 times since \d\d:\d\d:\d\d$/)
    assert.equal(await since.getByRole('time').getAttribute('datetime'), at)
    await rows.first().getByText(requestId).first().waitFor()
    await section.getByRole('radio', { name: 'All 7' }).focus()
    await page.keyboard.press('ArrowRight')
    await section.getByRole('radio', { name: 'Granted 3' }).and(page.locator(':focus')).waitFor()
    assert.deepEqual(await answers(), ['304', '200', '200'])
    await page.keyboard.press('ArrowRight')
    await section.getByRole('radio', { name: 'Refused 4' }).and(page.locator(':focus')).waitFor()
    assert.deepEqual(await answers(), ['401 invalid_client', '422 invalid_input'])
    await section.getByRole('radio', { name: 'All 7' }).check({ force: true })

    const opener = section.getByRole('button', { name: `why request ${refused} was refused` })
    const isExpanded = () => opener.getAttribute('aria-expanded')
    assert.equal(await isExpanded(), 'false')
    assert.equal(await section.getByRole('button', { name: /why request/ }).count(), 2)
    // The newest request was refused, so it is open.
    await section.getByText('The client secret was wrong.').waitFor()
    const reason = section.getByText('A field was invalid: ?from must be a date, YYYY-MM-DD.')
    assert.equal(await reason.count(), 0)
    await opener.press('Enter')
    await reason.waitFor()
    await section.getByRole('button', { name: `Copy request id ${refused}` }).click()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), refused)
    await requestToken({ ...client, scope: 'boost:read' })
    await untilListed(8)
    await section.getByRole('radio', { name: 'Granted 4' }).waitFor()
    // It stays open, a row further down.
    assert.equal(await isExpanded(), 'true')
    await opener.press('Enter')
    await reason.waitFor({ state: 'detached' })
  })
})
