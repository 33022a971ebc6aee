import assert from 'node:assert/strict'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../infra/local/postgres.ts'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { fetchToken } from '../support/fetch-token.ts'
import { freePort } from '../support/ports.ts'
import { createTestRedis } from '../support/servers.ts'
import { startTestStack, type TestStack } from '../support/stack.ts'
import { fromBeside } from '../support/stores.ts'

const OWNER = { name: 'owner_of_journey', password: 'p@ss:word/?#' }

describe('the whole stack on given stores, through its one address', () => {
  let given: Record<string, string>
  let stack: TestStack
  after(() => stack?.remove())
  const postgres = forBlock(startPostgresApart)
  const redis = forBlock(createTestRedis)
  before(async () => {
    const { ownerUrl } = postgres
    // Knex would take the question mark for a value.
    const password = OWNER.password.replace('?', '\\?')
    await fromBeside(ownerUrl, `create role ${OWNER.name} superuser login password '${password}'`)
    const url = new URL(ownerUrl)
    url.username = OWNER.name
    url.password = encodeURIComponent(OWNER.password)
    given = {
      DATABASE_URL: url.href,
      REDIS_URL: redis.url('api'),
      // The keys in the database outlive the data folder of the first stack, and so must what opens them.
      KEY_ENCRYPTION_KEY: Buffer.alloc(32, 3).toString('base64'),
    }
    stack = await startTestStack({ env: { ...given, PROCESSES: '2', LOG_LEVEL: 'info' } })
  })

  const get = async (path: string) => (await fetch(stack.baseUrl + path)).json()
  async function token(clientId: string, clientSecret: string) {
    const response = await fetchToken(stack.baseUrl, { clientId, clientSecret })
    return { status: response.status, json: (await response.json()) as { access_token: string } }
  }

  it('names itself in its metadata', async () => {
    const server = await get('/.well-known/oauth-authorization-server')
    assert.equal(server.issuer, stack.baseUrl)
    assert.equal(server.token_endpoint, `${stack.baseUrl}/v1/oauth/token`)
    assert.equal((await get('/.well-known/oauth-protected-resource')).resource, stack.baseUrl)
  })

  it("logs the caller's address and request id as the gateway tells them, not the caller", async () => {
    const headers = { 'X-Forwarded-For': '203.0.113.7', 'X-Request-Id': 'mine-1' }
    const form = { method: 'POST', headers, body: new URLSearchParams({ grant_type: 'client_credentials' }) }
    const response = await fetch(`${stack.baseUrl}/v1/oauth/token`, form)
    const id = response.headers.get('x-request-id')
    assert.notEqual(id, 'mine-1')
    // A service's output comes a moment after its answer: lines are written together.
    const find = () => new RegExp(`.*${id}.*`).exec(stack.serviceOutput())?.[0]
    const line = await eventually(find, { otherwise: () => 'no line has the id' })
    assert.match(line, /"callerRequestId":"mine-1"/)
    assert.doesNotMatch(line, /203\.0\.113\.7/)
  })

  it('leaves the given stores running when it stops, and another stack goes on with them', async () => {
    assert.deepEqual([stack.stores.postgres.ended, stack.stores.redis.ended], [undefined, undefined])
    await stack.remove()
    assert.equal(await Promise.race([redis.ended, Promise.resolve('runs')]), 'runs')
    // The start gives both roles their passwords again.
    for (const role of ['integration_auth', 'integration_api'])
      await fromBeside(postgres.ownerUrl, `alter role ${role} password 'another'`)
    stack = await startTestStack({ env: given })
    const { clientId = '', clientSecret = '' } = stack.demoClient ?? {}
    assert.equal((await token(clientId, clientSecret)).status, 200)
  })
})

/** Not the tests' own, whose roles keep their passwords. */
async function startPostgresApart() {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await mkdtempDisposable(join(tmpdir(), 'integration-access-journey-')))
  const directory = join(folder.path, 'postgres')
  const server = await startPostgres({ directory, port: await freePort(), password: 'p' })
  starting.defer(() => server.stop())
  const parts = starting.move()
  return { ownerUrl: server.url('postgres'), [Symbol.asyncDispose]: () => parts.disposeAsync() }
}
