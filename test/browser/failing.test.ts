import { strict as assert } from 'node:assert'
import { connectedRedis } from '../support/redis.ts'
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
  untilExplained,
  untilReadAgain,
  visit,
} from '../support/workspace.ts'

const CLIENTS = '/ven_acme/integrations/oauth2-clients'

describe('workspace: clients that fail', () => {
  afterEach(leaveVisits)

  /** A client that got tokens until yesterday, and has a wrong secret since. */
  async function brokenClient(name: string) {
    const token = await sessionToken(OWNER)
    const client = await createClient(token, { name })
    await usedUntilYesterday(client.clientId)
    let requestId = ''
    for (let time = 0; time < 3; time += 1)
      ({ requestId } = await requestToken({ ...client, clientSecret: `${client.clientSecret}x` }))
    await untilExplained(token, requestId)
    const { refusals } = await api(`/v1/vendor/ven_acme/refusals?clientId=${client.clientId}`, { token })
    return { ...client, address: refusals[0].address as string }
  }

  it('leads from what needs attention to the failing clients by keyboard, and to since when all is refused, until when it worked, and what changed then', async () => {
    // With one client alone, the line leads to it.
    await brokenClient('Nightly import')
    const { address } = await brokenClient('Power BI gateway')
    const { page } = await visit({ as: OWNER, path: CLIENTS })
    const line = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem')
    await line
      .filter({ hasText: /^[2-9] clients fail/ })
      .getByRole('button')
      .press('Enter')
    const filter = page.getByRole('radio', { name: /^Failing [2-9]/ })
    await filter.waitFor({ state: 'attached' })
    assert.equal(await filter.isChecked(), true)
    const row = page.getByRole('row').filter({ hasText: 'Nightly import' })
    await row.getByText(/^Failing since (\w{3} )?\d\d:\d\d: wrong secret$/).waitFor()
    assert.equal(new URL(page.url()).searchParams.get('show'), 'failing')
    await assertAccessible(page)
    await page.setViewportSize({ width: 320, height: 700 })
    await assertFits(page)
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.getByRole('link', { name: 'Power BI gateway' }).click()
    await page.getByText(/^Nothing but refusals since .*: wrong secret, from /).waitFor()
    const notice = page.getByText(/^Nothing but refusals since/).locator('..')
    assert.ok((await notice.innerText()).includes(address))
    assert.equal(await notice.getByText('Anyone who knows the client id').count(), 0)
    await page.getByText('The client secret was wrong.').waitFor()
    await page.getByText(/^3 times since \d\d:\d\d:\d\d$/).waitFor()
    await assertAccessible(page)
    await page.setViewportSize({ width: 320, height: 700 })
    await assertFits(page)
    await notice.getByRole('link', { name: 'What changed in the company then' }).click()
    await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor()
    const [, from = '', to = ''] = /\/activity\?from=([\d-]{10})&to=([\d-]{10})$/.exec(page.url()) ?? []
    assert.ok(from !== '' && from < to, page.url())
    await page.getByText('created the client Power BI gateway').waitFor()
  })

  it('marks a revoked client that still asks, with its replacement, however long their names are', async () => {
    const token = await sessionToken(OWNER)
    const name = 'Nightly import of a partner whose name is long, production'
    const old = await createClient(token, { name })
    await createClient(token, { name: `${name} 2`, replaces: old.clientId })
    await api(`/v1/vendor/ven_acme/oauth-clients/${old.clientId}/revoke`, { token, method: 'POST' })
    await untilExplained(token, (await requestToken(old)).requestId)
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}?show=asking`, width: 390 })
    await page.getByText(`Still asks, replaced by ${name} 2`).waitFor()
    await page.getByRole('link', { name, exact: true }).click()
    await page.getByText('This client is revoked, and still asks').waitFor()
    assert.equal(await page.getByText('Nothing but refusals').count(), 0)
    await page.goBack()
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 700 })
      await assertFits(page)
    }
  })

  it('shows – for what it cannot know while Redis is away, in the list and on the client’s page, and reads both again', async () => {
    const token = await sessionToken(OWNER)
    const client = await brokenClient('Unknown while away')
    const redis = await processOfRedis()
    const { page, baseUrl } = await visit({ as: OWNER, path: `${CLIENTS}?show=failing`, clock: true })
    await page.getByRole('radio', { name: /^Failing [1-9]/ }).waitFor({ state: 'attached' })
    process.kill(redis, 'SIGSTOP')
    try {
      await page.reload()
      await page.getByText('Failing: –. Refused requests cannot be read right now.').waitFor()
      await page.getByRole('radio', { name: 'Failing –', exact: true }).waitFor({ state: 'attached' })
      assert.equal(await page.getByText('No client needs attention.').count(), 0)
      await page.goto(`${baseUrl}${CLIENTS}/${client.clientId}`)
      await page.getByText('Whether its requests are refused cannot be read right now').waitFor()
    } finally {
      process.kill(redis, 'SIGCONT')
    }
    await untilReadAgain(page, page.getByText(/^Nothing but refusals since/))
    await requestToken(client)
    await untilReadAgain(page, page.getByText('1 token issued, 3 requests refused.'))
    await page.getByRole('navigation').getByRole('link', { name: 'OAuth2 Clients' }).click()
    await page.getByRole('link', { name: 'Unknown while away' }).waitFor()
    await createClient(token, { name: 'Made elsewhere' })
    await untilReadAgain(page, page.getByRole('link', { name: 'Made elsewhere' }))
  })

  it('says that anyone may send wrong secrets for a client that never had a token', async () => {
    const token = await sessionToken(OWNER)
    const client = await createClient(token, { name: 'Not deployed' })
    await untilExplained(token, (await requestToken({ ...client, clientSecret: 'wrong' })).requestId)
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}/${client.clientId}` })
    await page.getByText(/^It has never had a token\. Anyone who knows the client id/).waitFor()
  })
})

/** Returns the id of the process that only this stack uses. */
async function processOfRedis(): Promise<number> {
  const { stores } = await testStack()
  using redis = await connectedRedis(stores.redis.ownerUrl)
  const info = await redis.info('server')
  return Number(/process_id:(\d+)/.exec(info)?.[1])
}

/** No clock is moved: the stack's services have the real one. */
async function usedUntilYesterday(clientId: string): Promise<void> {
  const { stores } = await testStack()
  await using db = connectedDatabase(stores.postgres.ownerUrl)
  await db.raw(
    `insert into client_usage select id, at, at from (values (?, now() - interval '26 hours')) as use (id, at)`,
    [clientId],
  )
  for (const address of ['127.0.0.1', '::/64'])
    await db.raw(
      `insert into client_address_usage
       select ?, at, ?, 40, at, at from (values (now() - interval '26 hours')) as use (at)`,
      [clientId, address],
    )
}
