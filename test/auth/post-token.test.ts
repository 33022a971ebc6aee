import { strict as assert } from 'node:assert'
import { decodeJwt } from 'jose'
import { sharedAuth, tokenFields } from '../support/auth.ts'
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

  it('refuses a client that was revoked so long ago that only its record says so', async () => {
    const revoked = await auth.createClient()
    await auth.db.raw(
      `update oauth_clients set status = 'Revoked', revoked_at = now() - interval '2 days' where client_id = ?`,
      [revoked.clientId],
    )
    const { status, json, headers } = await auth.token(revoked)
    assert.deepEqual([status, json.error, headers.get('cache-control')], [401, 'invalid_client', 'no-store'])
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
