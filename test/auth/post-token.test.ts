import { strict as assert } from 'node:assert'
import { decodeJwt } from 'jose'
import { type AuthResponse, sharedAuth, tokenFields } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { API_RESOURCE } from '../support/issuer.ts'

const PATH = '/v1/oauth/token'

describe('POST /v1/oauth/token', () => {
  const auth = sharedAuth({ trusted: true })
  const client = forBlock(() => auth.createClient({ scopes: ['analytics:read', 'boost:read'] }))

  const post = (changes: Record<string, string | undefined> = {}, headers?: Record<string, string>) =>
    auth.post(PATH, { ...tokenFields(client), ...changes }, headers)

  const postResources = (...resources: string[]) => {
    const form = new URLSearchParams(tokenFields(client))
    for (const resource of resources) form.append('resource', resource)
    return auth.post(PATH, form.toString())
  }

  for (const trusted of [true, false])
    describe(`401 invalid_client, decided by ${trusted ? 'Redis' : 'Postgres'}`, () => {
      const server = sharedAuth({ trusted })

      it('refuses a client that was revoked so long ago that only its record says so', async () => {
        const revoked = await server.createClient()
        await server.db.raw(
          `update oauth_clients set status = 'Revoked', revoked_at = now() - interval '2 days' where client_id = ?`,
          [revoked.clientId],
        )
        assertError(await server.token(revoked), 401, 'invalid_client')
      })
    })

  describe('200', () => {
    for (const scope of ['boost:read', 'boost:read analytics:read', 'analytics:read boost:read'])
      it(`gives a subset in any order, echoed as sent: ${scope}`, async () => {
        const { status, json } = await auth.token(client, { scope })
        assert.deepEqual([status, json.scope], [200, scope])
      })

    it('takes the identifier of the API as resource, with scheme and host in any case', async () => {
      for (const end of ['', '/', ':443', ':443/']) {
        const { status, json } = await post({ resource: API_RESOURCE.toUpperCase() + end })
        assert.equal(status, 200, end)
        assert.equal(decodeJwt(json.access_token).aud, API_RESOURCE)
      }
    })

    it('takes several resources if each is the identifier of the API (RFC 8707 §2)', async () => {
      for (const more of [[API_RESOURCE], ['', `${API_RESOURCE}/`], ['']]) {
        const { status, json } = await postResources(API_RESOURCE, ...more)
        assert.equal(status, 200, more.join())
        assert.equal(decodeJwt(json.access_token).aud, API_RESOURCE)
      }
    })
  })
})

function assertError(response: AuthResponse, status: number, error: string): void {
  assert.equal(response.status, status, response.text)
  assert.equal(response.json.error, error)
  assert.equal(response.headers.get('content-type'), 'application/json')
  assert.equal(response.headers.get('cache-control'), 'no-store')
  assert.match(response.headers.get('x-request-id') ?? '', /^[A-Za-z0-9._-]{1,64}$/)
}
