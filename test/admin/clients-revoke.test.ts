import assert from 'node:assert/strict'
import { runAdmin } from '../support/admin.ts'
import { startTestStack, type TestStack } from '../support/stack.ts'

describe('admin clients revoke', function () {
  this.timeout(60_000)
  let stack: TestStack
  before(async () => {
    stack = await startTestStack({ env: { PROCESSES: '2' } })
  })
  after(() => stack.remove())

  /** Finds the running stack by its data folder, as a person's command does. */
  const admin = (...args: string[]) => runAdmin(args, { env: { DATA_DIR: stack.dataDir, DATABASE_URL: '' } })

  function requestToken() {
    const { clientId, clientSecret } = stack.demoClient
    return fetch(`${stack.baseUrl}/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        scope: 'analytics:read',
      }),
    })
  }
  const readDaily = (token: string) =>
    fetch(`${stack.baseUrl}/v1/analytics/ven_acme/daily`, { headers: { Authorization: `Bearer ${token}` } })

  it('refuses a client of another company, and one that there is not', async () => {
    for (const [vendorId, clientId] of [
      ['ven_globex', stack.demoClient.clientId],
      ['ven_acme', 'cli_0000000000000000000000'],
    ] as const) {
      const { code, stderr } = await admin('clients', 'revoke', vendorId, clientId)
      assert.equal(code, 1)
      assert.equal(stderr, `${vendorId} has no client ${clientId}.\n`)
    }
    assert.equal((await requestToken()).status, 200)
  })

  it('ends when no process accepts the client or its tokens any more', async () => {
    const tokens: string[] = []
    for (let i = 0; i < 8; i += 1)
      tokens.push(((await (await requestToken()).json()) as { access_token: string }).access_token)
    for (const token of tokens) assert.equal((await readDaily(token)).status, 200)

    const { code, stdout, stderr } = await admin('clients', 'revoke', 'ven_acme', stack.demoClient.clientId)
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^cli_\w+ \(Demo client of the local stack\) is revoked everywhere\.\n$/)

    const answers = await Promise.all([...tokens.map(readDaily), ...tokens.map(() => requestToken())])
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [401])
  })

  it('leaves one entry in the activity of the company, by an operator', async () => {
    await admin('clients', 'revoke', 'ven_acme', stack.demoClient.clientId)
    const session = await fetch(`${stack.baseUrl}/v1/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: 'owner@acme.example', password: stack.demoPassword }),
    })
    const { sessionToken } = (await session.json()) as { sessionToken: string }
    const response = await fetch(`${stack.baseUrl}/v1/vendor/ven_acme/activity`, {
      headers: { Authorization: `Bearer ${sessionToken}` },
    })
    const { entries } = (await response.json()) as { entries: { action: string }[] }
    assert.deepEqual(
      entries.map(({ action }) => action),
      ['client.revoked', 'client.created'],
    )
  })

  it('gives the same promise when it is repeated', async () => {
    const { code, json } = await admin('clients', 'revoke', 'ven_acme', stack.demoClient.clientId, '--json')
    assert.equal(code, 0)
    assert.equal(json.status, 'Revoked')
    assert.equal(json.revokedBy, null)
    assert.equal((await requestToken()).status, 401)
  })

  it('works while Redis is down, and ends when no process can have missed it', async () => {
    const { databaseUrl } = await running()
    const { code } = await runAdmin(['clients', 'revoke', 'ven_acme', stack.demoClient.clientId], {
      env: { DATABASE_URL: databaseUrl, REDIS_URL: 'redis://127.0.0.1:1' },
    })
    assert.equal(code, 0)
  })

  it('needs to know which Redis', async () => {
    const { databaseUrl } = await running()
    const { code, stderr } = await runAdmin(['clients', 'revoke', 'ven_acme', stack.demoClient.clientId], {
      env: { DATABASE_URL: databaseUrl, REDIS_URL: '' },
    })
    assert.equal(code, 1)
    assert.match(stderr, /^Set REDIS_URL too/)
  })

  async function running(): Promise<{ databaseUrl: string }> {
    return { databaseUrl: stack.stores.postgres.ownerUrl }
  }
})
