import { strict as assert } from 'node:assert'
import { decodeJwt } from 'jose'
import { newClientId, newClientSecret } from '../../apps/api/accounts/new-ids.ts'
import { basic, sharedAuth, tokenFields } from '../support/auth.ts'
import { forEachTest } from '../support/block.ts'
import { requestLines } from '../support/log.ts'
import { cutOffDatabase } from '../support/stores.ts'

describe('the audit log', () => {
  const auth = sharedAuth({ trusted: true })
  const client = forEachTest(() => auth.createClient({ scopes: ['analytics:read', 'boost:read'] }))

  beforeEach(() => {
    auth.logLines.length = 0
  })

  const events = () => requestLines(auth).filter(({ event }) => event !== undefined)
  const only = () => {
    const [event, ...rest] = events()
    assert.deepEqual(rest, [])
    const { level, time, pid, hostname, msg, ...fields } = event
    assert.ok(level && time && pid && hostname && msg)
    return fields
  }

  it('logs an issued token: who, from where, which, and the ids of the request', async () => {
    const headers = { 'x-request-id': 'my-own-id' }
    const response = await auth.post('/v1/oauth/token', tokenFields(client), headers)
    const { jti } = decodeJwt(response.json.access_token)
    const { kid, ...event } = only()
    assert.equal(typeof kid, 'string')
    assert.deepEqual(event, {
      event: 'token.issued',
      requestId: response.headers.get('x-request-id'),
      callerRequestId: 'my-own-id',
      clientAddress: '127.0.0.1',
      clientId: client.clientId,
      vendorId: client.vendorId,
      jti,
      scope: 'analytics:read boost:read',
    })
  })

  const refusals: [string, Record<string, string | undefined>, string, string][] = [
    ['a wrong secret', { client_secret: 'x' }, 'invalid_client', 'wrong_secret'],
    ['no secret', { client_secret: undefined }, 'invalid_client', 'no_secret'],
    ['an unknown client', { client_id: newClientId() }, 'invalid_client', 'unknown_client'],
    ['a missing grant type', { grant_type: undefined }, 'invalid_request', 'field_missing'],
    ['another grant', { grant_type: 'password' }, 'unsupported_grant_type', 'unsupported_grant_type'],
  ]
  for (const [name, changes, error, reason] of refusals)
    it(`logs why it refused: ${name}`, async () => {
      const { headers, status } = await auth.token(client, changes)
      assert.deepEqual(only(), {
        event: 'request.refused',
        requestId: headers.get('x-request-id'),
        clientAddress: '127.0.0.1',
        path: '/v1/oauth/token',
        clientId: changes.client_id ?? client.clientId,
        status,
        error,
        reason,
      })
    })

  it('logs a revoked token', async () => {
    const token = (await auth.token(client)).json.access_token
    auth.logLines.length = 0
    await auth.revokeToken(client, token)
    const { event, clientId, jti } = only()
    assert.deepEqual([event, clientId, jti], ['token.revoked', client.clientId, decodeJwt(token).jti])
  })

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
})
