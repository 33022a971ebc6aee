import { strict as assert } from 'node:assert'
import { connectedRedis } from '../support/redis.ts'
import {
  CLIENTS,
  createClient,
  OWNER,
  requestToken,
  testStack,
  untilExplained,
  untilReadAgain,
  visit,
} from '../support/workspace.ts'

describe('workspace: clients that fail', () => {
  it('shows – for what it cannot know while Redis is away, in the list and on the client’s page, and reads both again', async () => {
    const client = await createClient({ name: 'Unknown while away' })
    const wrong = { ...client, clientSecret: `${client.clientSecret}x` }
    for (const _ of [1, 2]) await requestToken(wrong)
    await untilExplained(await requestToken(wrong))
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
  })
})

/** Returns the id of the process that only this stack uses. */
async function processOfRedis(): Promise<number> {
  const { stores } = await testStack()
  using redis = await connectedRedis(stores.redis.ownerUrl)
  return Number(/process_id:(\d+)/.exec(await redis.info('server'))?.[1])
}
