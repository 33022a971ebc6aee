import { strict as assert } from 'node:assert'
import Provider, { type Client, type KoaContextWithOIDC } from 'oidc-provider'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { createGrants } from '../../apps/auth/grant.ts'
import { createRememberingJudge, type GrantRequest } from '../../apps/auth/grant-judge.ts'
import { Refusal } from '../../apps/auth/refusal.ts'
import { startAuth, TEST_RESOURCE } from '../support/auth.ts'
import { orders, subsets } from '../support/scopes.ts'
import { createTestKey } from '../support/token-key.ts'

const refusal = new Refusal({ status: 400, error: 'invalid_scope', description: 'no', reason: 'no' })
/** What a judge returns for consent. */
const CONSENT = { clientId: 'client' } as Client

describe('a remembered verdict', () => {
  const requestOf = (changes: Partial<GrantRequest> = {}): GrantRequest => ({
    assigned: ['analytics:read', 'boost:read'],
    grantType: 'client_credentials',
    scope: 'analytics:read',
    resource: 'https://api.test',
    ...changes,
  })

  /** A judge whose every call is counted. */
  function counted(verdict: Client | Refusal = CONSENT) {
    const asked: GrantRequest[] = []
    const judge = createRememberingJudge(async (request) => {
      asked.push(request)
      return verdict
    })
    return { judge, asked }
  }

  it('asks for a verdict once per combination of assigned scopes, grant type, scope and resource', async () => {
    const { judge, asked } = counted()
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
      assert.equal(await judge(requestOf(changes)), CONSENT)
    assert.equal(asked.length, combinations.length)
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
    try {
      const { clientId, clientSecret } = await auth.createClient({ scopes: ['analytics:read'] })
      const { status } = await auth.post(
        '/v1/oauth/token',
        { grant_type: 'client_credentials', scope: 'analytics:read' },
        {
          authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
          origin: 'https://elsewhere.test',
          accept: 'text/html',
        },
      )
      assert.equal(status, 200)
    } finally {
      Provider.prototype.emit = emit
    }
    const fields = {
      grant_type: 'client_credentials',
      client_id: 'client with analytics:read',
      scope: 'analytics:read',
      resource: TEST_RESOURCE,
    }
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(new URLSearchParams(fields).toString().length),
    }
    assert.deepEqual(seen, [{ url: '/token', headers, fields }])
  })

  it('never remembers a refusal: that is judged each time', async () => {
    const { judge, asked } = counted(refusal)
    for (const _ of [1, 2, 3]) assert.equal(await judge(requestOf()), refusal)
    assert.equal(asked.length, 3)
  })

  it('remembers a bounded number of verdicts', async () => {
    const { judge, asked } = counted()
    const strings = Array.from({ length: 3_000 }, (_, i) => `scope-${i}`)
    for (const scope of [...strings, ...strings]) await judge(requestOf({ scope }))
    assert.equal(asked.length, 6_000 - 2_000)
  })

  /** Every request that can be granted: each set of scopes, each subset of it in each order. */
  const grantable = subsets(SCOPES).flatMap((assigned) =>
    subsets(assigned)
      .flatMap(orders)
      .map((names) => requestOf({ assigned, scope: names.join(' ') })),
  )

  it('keeps a verdict for every grantable request, whatever order the scopes are in', async () => {
    const granting = createGrants({ issuer: 'https://issuer.test', resource: 'https://api.test' })
    const { judge: judgeOfLibrary } = granting(createTestKey())
    let asked = 0
    const judge = createRememberingJudge(async (request) => {
      asked += 1
      return judgeOfLibrary(request)
    })
    const reversed = grantable.map((one) => ({ ...one, assigned: [...one.assigned].reverse() }))
    for (const request of [...grantable, ...reversed]) assert.ok(!((await judge(request)) instanceof Refusal))
    assert.equal(asked, 211)
  })
})
