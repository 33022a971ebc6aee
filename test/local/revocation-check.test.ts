import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { listen } from '#shared/process/http-server.ts'
import { apiAccepts, discover, getToken, revokeRepeatedly } from '../../infra/revocation-check/check.ts'
import { sharedAuth } from '../support/auth.ts'
import { afterwards } from '../support/block.ts'

describe('what npm run revocation-check asks', () => {
  const auth = sharedAuth()

  it('takes the metadata of the issuer at its base URL, and no other to whom the secret would go', async () => {
    let issuer = ''
    const server = createServer(({ url }, response) => response.end(JSON.stringify({ issuer, url })))
    await using _ = afterwards(() => server.close())
    const url = `http://127.0.0.1:${await listen(server, { host: '127.0.0.1', port: 0 })}`
    for (const other of [`${url}.evil.example`, `${url}/`, url.slice(0, -1), 'https://evil.example']) {
      issuer = other
      const sentence = `is of another issuer, ${other}. Give that as the base URL.`
      await assert.rejects(discover(url), ({ message }) => message.endsWith(sentence))
    }
    issuer = url
    assert.deepEqual(await discover(url), { issuer, url: '/.well-known/oauth-authorization-server' })
  })

  it('finds a verifier that goes on accepting, even once', async () => {
    const { clientId: client_id, clientSecret: client_secret } = await auth.createClient()
    const credentials = { client_id, client_secret }
    const metadata = {
      token_endpoint: `${auth.url}/v1/oauth/token`,
      revocation_endpoint: `${auth.url}/v1/oauth/revoke`,
    }
    const answers = [true, true, true, false, true, false]
    const slow = { name: 'slow', promised_ms: 0, accepts: async () => answers.shift() ?? false }
    const [worst_ms = 0] = await revokeRepeatedly(metadata, credentials, [slow], { count: 2 })
    assert.ok(worst_ms > 0)
    const token = await getToken(metadata, credentials)
    await assert.rejects(apiAccepts(`${auth.url}/elsewhere`, token), /The API answered 404/)
  })
})
