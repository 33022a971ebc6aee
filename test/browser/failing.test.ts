import { strict as assert } from 'node:assert'
import { connectedRedis } from '../support/redis.ts'
import { connectedDatabase } from '../support/stores.ts'
import {
  assertLooksRight,
  CLIENTS,
  createClient,
  OWNER,
  requestToken,
  revokeClient,
  testStack,
  untilExplained,
  untilReadAgain,
  visit,
} from '../support/workspace.ts'

const YESTERDAY = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
/** A day earlier in UTC. */
const USED_AT = `${YESTERDAY}T00:00+01:00`

describe('workspace: clients that fail', () => {
  /** A client that got tokens until yesterday, and has a wrong secret since. */
  async function brokenClient(name: string) {
    const client = await createClient({ name })
    // No clock is moved: the stack's services have the real one.
    await using db = connectedDatabase((await testStack()).stores.postgres.ownerUrl)
    await db.raw('insert into client_usage values (?, ?, ?)', [client.clientId, USED_AT, USED_AT])
    const wrong = { ...client, clientSecret: `${client.clientSecret}x` }
    for (const _ of [1, 2]) await requestToken(wrong)
    await untilExplained(await requestToken(wrong))
    return client
  }

  it('leads from what needs attention to the failing clients by keyboard, and to since when all is refused, and what changed then', async () => {
    // With one client alone, the line leads to it.
    await brokenClient('Nightly import')
    await brokenClient('Power BI gateway')
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}?q=gateway` })
    const line = page.getByRole('region', { name: 'Needs attention' }).getByRole('button')
    await line.filter({ hasText: /^[2-9] clients fail/ }).press('Enter')
    const filter = page.getByRole('radio', { name: /^Failing [2-9]/ })
    await filter.waitFor({ state: 'attached' })
    assert.equal(await filter.isChecked(), true)
    const row = page.getByRole('row').filter({ hasText: 'Nightly import' })
    await row.getByText(/^Failing since (\w{3} )?\d\d:\d\d: wrong secret$/).waitFor()
    assert.equal(new URL(page.url()).searchParams.get('show'), 'failing')
    await assertLooksRight(page)
    await page.getByRole('link', { name: 'Power BI gateway' }).click()
    await page.getByText(/^Nothing but refusals since .*: wrong secret, from /).waitFor()
    await page.getByText(/^3 times since \d\d:\d\d:\d\d$/).waitFor()
    await assertLooksRight(page)
    await page.getByRole('link', { name: 'What to change' }).click()
    await page.getByRole('heading', { name: 'Requests' }).and(page.locator(':focus')).waitFor()
    await page.getByRole('link', { name: 'What changed in the company then' }).click()
    await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor()
    const [, from = '', to = ''] = /\/activity\?from=([\d-]{10})&to=([\d-]{10})$/.exec(page.url()) ?? []
    assert.equal(from, YESTERDAY)
    assert.ok(from < to, page.url())
    await page.getByText('created the client Power BI gateway').waitFor()
  })

  it('marks a revoked client that still asks, with its replacement, however long their names are', async () => {
    const name = 'Nightly import of a partner whose name is long, production'
    const old = await createClient({ name })
    const { clientId } = await createClient({ name: `${name} 2`, replaces: old.clientId })
    await revokeClient(old.clientId)
    await untilExplained(await requestToken(old))
    const { page } = await visit({ as: OWNER, path: `${CLIENTS}?show=asking`, width: 390 })
    const asking = page.getByText(`Still asks, replaced by ${name} 2`)
    assert.equal(await asking.getByRole('link').getAttribute('href'), `${CLIENTS}/${clientId}`)
    await assertLooksRight(page)
    await page.getByRole('link', { name, exact: true }).click()
    await page.getByText('This client is revoked, and still asks').waitFor()
    assert.equal(await page.getByText('Nothing but refusals').count(), 0)
    // As many as are kept, of all that it has asked since.
    await page.route('**/requests', async (route) => {
      const response = await route.fetch()
      const [request] = (await response.json()).requests
      const requests = Array.from({ length: 200 }, (_, id) => ({ ...request, requestId: `${id}` }))
      await route.fulfill({ response, json: { requests, skipped: 0 } })
    })
    await page.getByText('Older ones may no longer be on record.').waitFor()
    await page.getByRole('region', { name: 'Requests', exact: true }).waitFor()
  })

  it('shows – for what it cannot know while Redis is away, in the list and on the client’s page, and reads both again', async () => {
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
      const unread = 'Whether its requests are refused cannot be read right now'
      await page.getByRole('status').getByText(unread).waitFor()
    } finally {
      process.kill(redis, 'SIGCONT')
    }
    await untilReadAgain(page, page.getByText(/^Nothing but refusals since/))
    await requestToken(client)
    await untilReadAgain(page, page.getByText('1 token issued, 3 requests refused.'))
    await page.getByRole('navigation').getByRole('link', { name: 'OAuth2 Clients' }).click()
    await page.getByRole('link', { name: 'Unknown while away' }).waitFor()
    await createClient({ name: 'Made elsewhere' })
    await untilReadAgain(page, page.getByRole('link', { name: 'Made elsewhere' }))
  })
})

/** Returns the id of the process that only this stack uses. */
async function processOfRedis(): Promise<number> {
  const { stores } = await testStack()
  using redis = await connectedRedis(stores.redis.ownerUrl)
  return Number(/process_id:(\d+)/.exec(await redis.info('server'))?.[1])
}
