import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import knex from 'knex'
import { registerService } from '../../infra/admin/services.ts'
import { discover, revokeRepeatedly } from '../../infra/revocation-check/check.ts'
import { forBlock } from '../support/block.ts'
import { stoppedTime } from '../support/clock.ts'
import { testOperator } from '../support/operator.ts'
import { startTestStack } from '../support/stack.ts'

const MAIN = join(import.meta.dirname, '../../infra/revocation-check/main.ts')

describe('npm run revocation-check', () => {
  const stack = forBlock(startTestStack)
  let client: { id: string; secret: string }
  before(() => {
    const { clientId: id = '', clientSecret: secret = '' } = stack.demoClient ?? {}
    client = { id, secret }
  })

  async function check(args: string[], env: Record<string, string> = {}) {
    const { PATH } = process.env
    const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH, ...env } })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: child.exitCode, stdout, stderr }
  }
  const credentials = () => ({ CLIENT_ID: client.id, CLIENT_SECRET: client.secret })

  it('measures each kind of verifier and prints no secret', async () => {
    const db = knex({ client: 'pg', connection: stack.stores.postgres.ownerUrl })
    const registering = registerService(db, { name: 'Check', by: testOperator() })
    const service = await registering.finally(() => db.destroy())
    const { code, stdout, stderr } = await check([stack.baseUrl, '--count', '2'], {
      ...credentials(),
      SERVICE_ID: service.serviceId,
      SERVICE_SECRET: service.serviceSecret,
    })
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /'resource API' +│ 0 +│ 0 +│$/m)
    assert.match(stdout, /'introspection' +│ 0 +│ 0 +│$/m)
    assert.match(stdout, /'revocations page' +│ \d+ +│ 3000 +│$/m)
    assert.match(stderr, /^2 of 2 revoked$/m)
    for (const secret of [client.secret, service.serviceSecret, 'eyJ'])
      assert.ok(!(stdout + stderr).includes(secret), secret)
  })

  it('says that introspection was not measured without a registered service', async () => {
    const { code, stdout } = await check([stack.baseUrl, '--count', '1'], credentials())
    assert.equal(code, 0)
    assert.doesNotMatch(stdout, /'introspection'/)
    assert.match(stdout, /Introspection was not measured/)
  })

  it('gives up on a verifier that accepts for more than 15 s', async () => {
    using time = stoppedTime()
    let asked = 0
    const accepts = async () => {
      time.advance(4_000)
      assert.ok(++asked < 10, 'asked for longer than it may take')
      return true
    }
    const endless = { name: 'endless', promised_ms: 0, accepts }
    const credentials = { client_id: client.id, client_secret: client.secret }
    const revoking = revokeRepeatedly(await discover(stack.baseUrl), credentials, [endless], { count: 1 })
    await assert.rejects(revoking, /still accepted after 15 s: endless/)
    assert.equal(asked, 5)
  })

  for (const [what, args, env, code, sentence] of [
    ['a wrong secret', [''], { CLIENT_SECRET: 'wrong' }, 2, /\/v1\/oauth\/token answered 401/],
    ['another name of the server', ['(auth)'], {}, 2, /is of another issuer/],
  ] as const)
    it(`ends with code ${code} and one sentence at ${what}`, async () => {
      const urls = args.map((arg) => (arg === '(auth)' ? stack.authUrl : arg || stack.baseUrl))
      const result = await check(urls, { ...credentials(), ...env })
      assert.equal(result.code, code)
      assert.match(result.stderr, sentence)
      assert.doesNotMatch(result.stderr, / {4}at /)
    })
})
