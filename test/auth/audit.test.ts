import { strict as assert } from 'node:assert'
import { newClientId, newClientSecret } from '../../apps/api/accounts/new-ids.ts'
import { TokenKey } from '../../apps/auth/token-key.ts'
import { basic, sharedAuth, tokenFields } from '../support/auth.ts'
import { afterwards, forEachTest } from '../support/block.ts'
import { loggedEvents, requestLines } from '../support/log.ts'
import { cutOffDatabase } from '../support/stores.ts'

describe('the audit log', () => {
  const auth = sharedAuth({ trusted: true })
  const client = forEachTest(() => auth.createClient())

  const events = () => requestLines(auth).filter(({ event }) => event !== undefined)

  it('logs no secret and no token, wherever a caller puts them', async () => {
    const { clientSecret: secret } = client
    const tokens: string[] = []
    const keep = async (response: Promise<{ json?: { access_token?: string } }>) => {
      const { json } = await response
      if (json?.access_token) tokens.push(json.access_token)
    }
    await keep(auth.token(client))
    await keep(auth.token(client, { client_id: secret }))
    await keep(auth.token(client, { scope: secret }))
    await keep(auth.token(client, { grant_type: secret }))
    await keep(auth.token(client, { resource: secret }))
    await keep(auth.token(client, { resource: `https://${secret}.test` }))
    await keep(auth.token(client, { client_secret: `${secret}x` }))
    await keep(auth.token({ ...client, clientSecret: newClientSecret() }))
    await keep(auth.post('/v1/oauth/token', secret))
    await keep(auth.post('/v1/oauth/token', tokenFields(client), { authorization: basic(secret, secret) }))
    await keep(auth.post(`/v1/oauth/token?client_secret=${secret}&${secret}=1`, tokenFields(client)))
    await keep(auth.post(`/v1/oauth/${secret}`, tokenFields(client)))
    await keep(auth.post('/v1/oauth/token', tokenFields(client), { 'x-request-id': secret }))
    const [token = ''] = tokens
    await keep(auth.revokeToken(client, token))
    await keep(auth.revokeToken(client, token, { client_secret: 'x' }))
    const restore = await cutOffDatabase(auth.database)
    await keep(auth.token({ ...client, clientId: newClientId() }))
    await keep(auth.revokeToken(client, token))
    await restore()
    assert.ok(tokens.length > 0 && events().length > 10)
    const log = auth.logLines.join('')
    assert.ok(!log.includes(secret), 'a secret was logged')
    // As much as no random id has by chance.
    assert.ok(!log.includes(secret.slice(0, 12)), 'part of a secret was logged')
    for (const part of tokens.flatMap((token) => [token.slice(0, 12), ...token.split('.').slice(1)]))
      assert.ok(!log.includes(part), 'part of a token was logged')
  })

  it('has why the server failed, which the caller does not learn', async () => {
    const { sign } = TokenKey.prototype
    await using _ = afterwards(() => Object.assign(TokenKey.prototype, { sign }))
    TokenKey.prototype.sign = () => assert.fail('of its own')
    const { status, text, headers } = await auth.token(client)
    assert.deepEqual([status, text], [500, '{"error":"server_error"}'])
    assert.equal(headers.get('cache-control'), 'no-store')
    const [failure] = loggedEvents(auth, 'request.failed').filter(({ error }) => error === 'of its own')
    assert.equal(failure.requestId, headers.get('x-request-id'))
  })
})
