import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import createClient from 'openapi-fetch'
// `npm run typecheck` generates it from the published document, and checks this file against it.
import type { paths } from '../../../apps/workspace/src/api/openapi.d.ts'
import type { TestStack } from '../../support/stack.ts'
import { testStack } from '../../support/workspace.ts'

describe('a TypeScript client with the types of the published document', () => {
  let stack: TestStack
  before(async () => {
    stack = await testStack()
  })

  it('needs nothing but the base URL', async () => {
    const api = createClient<paths>({ baseUrl: stack.baseUrl })
    const as = (token: string | undefined) => ({ Authorization: `Bearer ${token}` })
    const path = { vendorId: 'ven_acme' }
    const signIn = { email: 'owner@acme.example', password: stack.demoPassword }
    const session = as((await api.POST('/v1/session', { body: signIn })).data?.sessionToken)

    const { data: client } = await api.POST('/v1/vendor/{vendorId}/oauth-clients', {
      params: { path },
      headers: session,
      body: { name: 'Generated', scopes: ['analytics:read', 'analytics:write'] },
    })
    assert.ok(client?.clientSecret)
    const listed = async (status: 'Active' | 'Revoked') => {
      const params = { path, query: { status } }
      const { data } = await api.GET('/v1/vendor/{vendorId}/oauth-clients', { params, headers: session })
      return data?.clients.some(({ clientId }) => clientId === client.clientId)
    }
    assert.equal(await listed('Active'), true)

    const { clientId: client_id, clientSecret: client_secret } = client
    const request = () =>
      api.POST('/v1/oauth/token', {
        body: { grant_type: 'client_credentials', client_id, client_secret, scope: client.scopes.join(' ') },
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      })
    const { data: token } = await request()
    assert.equal(token?.expires_in, 900)
    const bearer = as(token?.access_token)

    const event = { type: 'click', eventId: randomUUID(), occurredAt: new Date().toISOString() } as const
    const reported = await api.POST('/v1/analytics/{vendorId}/events', {
      params: { path },
      headers: bearer,
      body: { events: [event] },
    })
    assert.deepEqual(reported.data, { accepted: 1, duplicates: 0 })
    const days = () => api.GET('/v1/analytics/{vendorId}/daily', { params: { path }, headers: bearer })
    const { data: figures } = await days()
    assert.equal(figures?.dataThrough, event.occurredAt)

    const revoked = await api.POST('/v1/vendor/{vendorId}/oauth-clients/{clientId}/revoke', {
      params: { path: { ...path, clientId: client.clientId } },
      headers: session,
    })
    assert.equal(revoked.data?.status, 'Revoked')
    assert.equal(await listed('Revoked'), true)
    assert.equal((await days()).error?.code, 'invalid_token')
    assert.equal((await request()).error?.error, 'invalid_client')
  })
})
