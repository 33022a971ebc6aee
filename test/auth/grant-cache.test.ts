import { strict as assert } from 'node:assert'
import Provider, { type Client, type KoaContextWithOIDC } from 'oidc-provider'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { createGrants } from '../../apps/auth/grant.ts'
import { cacheGrants, type GrantRequest } from '../../apps/auth/grant-check.ts'
import { OAuthRefusal } from '../../apps/auth/http.ts'
import { basic, startAuth } from '../support/auth.ts'
import { afterwards } from '../support/block.ts'
import { API_RESOURCE } from '../support/issuer.ts'
import { orders, subsets } from '../support/scopes.ts'
import { createTestKey } from '../support/token-key.ts'

/** What a check returns when it grants. */
const CONSENT = { clientId: 'client' } as Client

describe('the cache of grants', () => {
  const requestWith = (changes: Partial<GrantRequest> = {}): GrantRequest => ({
    assigned: ['analytics:read', 'boost:read'],
    grantType: 'client_credentials',
    scope: 'analytics:read',
    resource: 'https://api.test',
    ...changes,
  })

  /** Returns a cached check, and counts the requests that reach the check behind it. */
  let checked = 0
  const createCache = (check: (request: GrantRequest) => Promise<Client | OAuthRefusal>) => {
    checked = 0
    return cacheGrants((request) => {
      checked += 1
      return check(request)
    })
  }

  it('checks once for each combination of assigned scopes, grant type, scope and resource', async () => {
    const check = createCache(async () => CONSENT)
    const combinations: Partial<GrantRequest>[] = [
      {},
      { assigned: ['analytics:read'] },
      { assigned: [] },
      { grantType: 'other' },
      { scope: 'boost:read' },
      { scope: 'boost:read analytics:read' },
      // None of these has a second spelling that could be granted.
      { scope: 'boost:read boost:read analytics:read' },
      { scope: 'boost:read  analytics:read' },
      { scope: ' analytics:read' },
      { scope: '' },
      { resource: 'https://api.test/' },
      // Texts that would be the same if they were only joined.
      { grantType: 'a', scope: 'b c' },
      { grantType: 'a b', scope: 'c' },
    ]
    for (const changes of [...combinations, ...combinations])
      assert.equal(await check(requestWith(changes)), CONSENT)
    assert.equal(checked, combinations.length)
  })

  it('shows oidc-provider no secret, no client id and no header of the caller', async () => {
    const seen: { url?: string; headers: object; fields: object }[] = []
    const { emit } = Provider.prototype
    Provider.prototype.emit = function (event: string, ...about: unknown[]) {
      const [context] = about as [KoaContextWithOIDC]
      if (event === 'grant.success')
        seen.push({ url: context.url, headers: context.headers, fields: { ...context.oidc.body } })
      return Reflect.apply(emit, this, [event, ...about])
    }
    await using auth = await startAuth()
    await using _ = afterwards(() => {
      Provider.prototype.emit = emit
    })
    const { clientId, clientSecret } = await auth.createClient({ scopes: ['analytics:read'] })
    const sent = { grant_type: 'client_credentials', scope: 'analytics:read' }
    const own = {
      authorization: basic(clientId, clientSecret),
      origin: 'https://elsewhere.test',
      accept: 'text/html',
    }
    assert.equal((await auth.post('/v1/oauth/token', sent, own)).status, 200)
    const fields = {
      grant_type: 'client_credentials',
      client_id: 'client with analytics:read',
      scope: 'analytics:read',
      resource: API_RESOURCE,
    }
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(new URLSearchParams(fields).toString().length),
    }
    assert.deepEqual(seen, [{ url: '/token', headers, fields }])
  })

  it('holds a bounded number of grants', async () => {
    const check = createCache(async () => CONSENT)
    const strings = Array.from({ length: 3_000 }, (_, i) => `scope-${i}`)
    for (const scope of [...strings, ...strings]) await check(requestWith({ scope }))
    assert.equal(checked, 6_000 - 2_000)
  })

  /** Every request that can be granted: each set of scopes, each subset of it in each order. */
  const grantable = subsets(SCOPES).flatMap((assigned) =>
    subsets(assigned)
      .flatMap(orders)
      .map((names) => requestWith({ assigned, scope: names.join(' ') })),
  )

  it('holds every grantable request, whatever order the scopes are in', async () => {
    const grantFor = createGrants({ issuer: 'https://issuer.test', resource: 'https://api.test' })
    const check = createCache(grantFor(createTestKey()).check)
    const reversed = grantable.map((request) => ({ ...request, assigned: [...request.assigned].reverse() }))
    for (const request of [...grantable, ...reversed])
      assert.ok(!((await check(request)) instanceof OAuthRefusal))
    assert.equal(checked, 211)
  })
})
