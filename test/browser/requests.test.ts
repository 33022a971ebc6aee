import { strict as assert } from 'node:assert'
import { eventually } from '../support/eventually.ts'
import {
  api,
  createClient,
  leaveVisits,
  OWNER,
  requestToken,
  sessionToken,
  testStack,
  visit,
} from '../support/workspace.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'
const DAILY = '/v1/analytics/ven_acme/daily'

describe('workspace: the requests of a client', () => {
  afterEach(leaveVisits)

  const untilListed = async (clientId: string, count: number) => {
    const token = await sessionToken(OWNER)
    const path = `/v1/vendor/ven_acme/oauth-clients/${clientId}/requests`
    await eventually(async () => (await api(path, { token })).requests.length === count, { every_ms: 100 })
  }

  it('lists them by time, answer, route, address and id, filtered by keyboard and 20 at first, and explains the refused', async () => {
    const session = await sessionToken(OWNER)
    const scopes = ['analytics:read', 'boost:read']
    const client = await createClient(session, { name: 'Listed', scopes })
    const { clientId } = client
    const { baseUrl } = await testStack()
    const read = async (token: unknown, search = '', headers = {}) =>
      fetch(`${baseUrl}${DAILY}${search}`, { headers: { ...headers, authorization: `Bearer ${token}` } })
    const wrong = () => requestToken({ ...client, clientSecret: 'wrong' })
    const first = await wrong()
    const { body } = await requestToken({ ...client, scope: 'analytics:read' })
    const etag = (await read(body.access_token)).headers.get('etag')
    assert.equal((await read(body.access_token, '', { 'if-none-match': etag })).status, 304)
    const refused = (await read(body.access_token, '?from=never')).headers.get('x-request-id') ?? ''
    await wrong()
    const { requestId } = await wrong()
    await untilListed(clientId, 7)
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${clientId}`, width: 1440 })
    const section = page.getByRole('region', { name: 'Requests', exact: true })
    const rows = section.locator('tbody').getByRole('row')
    await rows.first().waitFor()
    const answers = async () => {
      const texts = await section.locator('tbody tr td:nth-child(2)').allInnerTexts()
      return texts.map((text) => text.replace(/\s*, why request [\s\S]*/, ''))
    }
    const alike = /^3 times since \d\d:\d\d:\d\d$/
    assert.deepEqual(await answers(), ['401 invalid_client', '422 invalid_input', '304', '200', '200'])
    const path = `/v1/vendor/ven_acme/oauth-clients/${clientId}/requests`
    const { requests } = await api(path, { token: session })
    const { at } = requests.find((request: { requestId: string }) => request.requestId === first.requestId)
    const since = rows.first().getByText(alike).locator('time')
    assert.equal(await since.getAttribute('datetime'), at)
    await rows.first().getByText(requestId).first().waitFor()
    assert.match(
      await rows.last().innerText(),
      /\d\d:\d\d:\d\d[\s\S]*200[\s\S]*POST \/v1\/oauth\/token[\s\S]*(127\.0\.0\.1|::1)[\s\S]*-/,
    )
    await section
      .getByText('At most the last 200 are kept. Refused ones are explained for 24 hours.')
      .waitFor()
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
    assert.equal(await isExpanded(), 'true')
    await section.getByText('The errors in the response name each invalid field').waitFor()
    await opener.press('Enter')
    await reason.waitFor({ state: 'detached' })

    for (let n = 0; n < 20; n += 1) await requestToken({ ...client, scope: 'boost:read' })
    await untilListed(clientId, 27)
    await section.getByRole('radio', { name: 'Granted 23' }).waitFor()
    assert.equal(await section.getByRole('row').count(), 21)
    const showAll = section.getByRole('button', { name: 'Show all 25' })
    assert.ok(((await showAll.boundingBox())?.width ?? 999) < 200)
    await showAll.click()
    await section.getByRole('row').nth(25).waitFor()
    assert.equal(await section.getByRole('row').count(), 26)
  })
})
