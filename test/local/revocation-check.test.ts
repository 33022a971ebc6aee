import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { mock } from 'node:test'
import { listen } from '#shared/process/http-server.ts'
import {
  apiAccepts,
  compareWithPromises,
  discover,
  getToken,
  revokeRepeatedly,
} from '../../infra/revocation-check/check.ts'
import { sharedAuth } from '../support/auth.ts'
import { afterwards } from '../support/block.ts'

const MAIN = join(import.meta.dirname, '../../infra/revocation-check/main.ts')

async function check(url: string, arg: string, env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [MAIN, url, arg], { env })
  const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stderr }
}

describe('what npm run revocation-check asks', () => {
  const auth = sharedAuth()

  it('takes the metadata of the issuer at its base URL, and no other to whom the secret would go', async () => {
    let issuer = ''
    let page = ''
    const server = createServer(({ url }, response) => response.end(page || JSON.stringify({ issuer, url })))
    await using _ = afterwards(() => server.close())
    const url = `http://127.0.0.1:${await listen(server, { host: '127.0.0.1', port: 0 })}`
    for (const other of [`${url}.evil.example`, `${url}/`, url.slice(0, -1), 'https://evil.example']) {
      issuer = other
      const sentence = `is of another issuer, ${other}. Give that as the base URL.`
      await assert.rejects(discover(url), ({ message }) => message.endsWith(sentence))
    }
    issuer = url
    assert.deepEqual(await discover(url), { issuer, url: '/.well-known/oauth-authorization-server' })
    for (page of ['<!doctype html>', 'null'])
      await assert.rejects(discover(url), /server answered 200, but not with a JSON object\.$/)
  })

  it('ends with code 1 only if a verifier took longer than it promised', () => {
    const accepts = async () => true
    const verifiers = [0, 3_000].map((promised_ms) => ({ name: `${promised_ms}`, promised_ms, accepts }))
    const compare = (...worst_ms: number[]) => compareWithPromises(verifiers, worst_ms)
    assert.deepEqual(compare(0, 2_999.1).results[1], { name: '3000', worst_ms: 3_000, promised_ms: 3_000 })
    const codes = [compare(0, 3_000), compare(1, 0), compare(0, 3_001)].map(({ exitCode }) => exitCode)
    assert.deepEqual(codes, [0, 1, 1])
  })

  for (const [what, arg, env, code, sentence] of [
    ['no secret', '--count=1', { CLIENT_ID: 'c' }, 2, /^Set CLIENT_SECRET/],
    ['an address without a server', '--count=200', { CLIENT_ID: 'c', CLIENT_SECRET: 's' }, 2, /ECONNREFUSED/],
    ['a count that is too large', '--count=201', {}, 64, /whole number from 1 to 200/],
  ] as const)
    it(`ends with code ${code} and one sentence at ${what}`, async () => {
      const result = await check('http://127.0.0.1:1', arg, env)
      assert.equal(result.code, code)
      assert.match(result.stderr, sentence)
      assert.doesNotMatch(result.stderr, / {4}at /)
    })

  it('says what it waits for, from the first question on', async () => {
    const server = createServer((_, response) => setTimeout(() => response.writeHead(404).end(), 2_800))
    await using _ = afterwards(() => server.close())
    const url = `http://127.0.0.1:${await listen(server, { host: '127.0.0.1', port: 0 })}`
    const { stderr } = await check(url, '--count=1', { CLIENT_ID: 'c', CLIENT_SECRET: 's' })
    assert.match(stderr, /^(?:Asking the authorization server \(\d s\)\n)+.* answered 404, not 200\.\n$/)
  })

  it('finds a verifier that goes on accepting, even once', async () => {
    const { clientId: client_id, clientSecret: client_secret } = await auth.createClient()
    const credentials = { client_id, client_secret }
    const metadata = {
      token_endpoint: `${auth.url}/v1/oauth/token`,
      revocation_endpoint: `${auth.url}/v1/oauth/revoke`,
    }
    const answers = [true, true, true, false, true, false]
    const now = performance.now.bind(performance)
    const accepts = async () => {
      // As a revocation takes that is asked for in this tick. The time until its reply does not count.
      if (answers.length === 6) setImmediate(() => mock.method(performance, 'now', () => now() + 2_000))
      return answers.shift() ?? false
    }
    const slow = { name: 'slow', promised_ms: 0, accepts }
    await using _ = afterwards(async () => mock.restoreAll())
    const [worst_ms = 0] = await revokeRepeatedly(metadata, credentials, [slow], { count: 2 })
    assert.ok(worst_ms > 0 && worst_ms < 2_000, `${worst_ms}`)
    const token = await getToken(metadata, credentials)
    await assert.rejects(apiAccepts(`${auth.url}/elsewhere`, token), /The API answered 404/)
  })
})
