import { strict as assert } from 'node:assert'
import Provider from 'oidc-provider'
import { SCOPES, type Scope } from '#shared/oauth/scopes.ts'
import { createGrantJudge, createRememberingJudge, type GrantRequest } from '../../apps/auth/grant-judge.ts'
import { Refusal } from '../../apps/auth/refusal.ts'
import { startAuth, TEST_RESOURCE } from '../support/auth.ts'

const refusal = new Refusal({ status: 400, error: 'invalid_scope', description: 'no', reason: 'no' })

describe('a remembered verdict', () => {
  const requestOf = (changes: Partial<GrantRequest> = {}): GrantRequest => ({
    assigned: ['analytics:read', 'boost:read'],
    grantType: 'client_credentials',
    scope: 'analytics:read',
    resource: 'https://api.test',
    ...changes,
  })

  /** A judge whose every call is counted. */
  function counted(verdict?: Refusal) {
    const asked: GrantRequest[] = []
    const judge = createRememberingJudge(async (request) => {
      asked.push(request)
      return verdict
    })
    return { judge, asked }
  }

  it('is asked for once for each combination of assigned scopes, grant type, scope and resource', async () => {
    const { judge, asked } = counted()
    const combinations: Partial<GrantRequest>[] = [
      {},
      { assigned: ['analytics:read'] },
      { assigned: [] },
      { grantType: 'other' },
      { scope: 'boost:read' },
      { scope: 'boost:read analytics:read' },
      { resource: 'https://api.test/' },
      // Texts that would be the same if they were only joined.
      { grantType: 'a', scope: 'b c' },
      { grantType: 'a b', scope: 'c' },
    ]
    for (const changes of [...combinations, ...combinations])
      assert.equal(await judge(requestOf(changes)), undefined)
    assert.equal(asked.length, combinations.length)
  })

  it('rests on nothing but these: oidc-provider sees no secret, no client id and no header of the caller', async () => {
    const seen: { url?: string; headers: object; fields: string }[] = []
    const { createContext } = Provider.prototype
    Provider.prototype.createContext = function (request, response) {
      const { url, headers } = request
      const [body] = (request as unknown as { iterator(): Buffer[] }).iterator()
      seen.push({ url: url ?? '', headers, fields: String(body) })
      return createContext.call(this, request, response) as never
    }
    const auth = await startAuth()
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
      Provider.prototype.createContext = createContext
      await auth.stop()
    }
    const fields = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'authenticated',
      scope: 'analytics:read',
      resource: TEST_RESOURCE,
    }).toString()
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(fields.length),
    }
    assert.deepEqual(seen, [{ url: '/token', headers, fields }])
  })

  it('is the same whatever order the assigned scopes are in', async () => {
    const { judge, asked } = counted()
    await judge(requestOf({ assigned: ['analytics:read', 'boost:read'] }))
    await judge(requestOf({ assigned: ['boost:read', 'analytics:read'] }))
    assert.equal(asked.length, 1)
  })

  it('is never a refusal: that is judged each time', async () => {
    const { judge, asked } = counted(refusal)
    for (const _ of [1, 2, 3]) assert.equal(await judge(requestOf()), refusal)
    assert.equal(asked.length, 3)
  })

  it('is bounded: strings without end are not all kept', async () => {
    const { judge, asked } = counted()
    const strings = Array.from({ length: 3_000 }, (_, i) => `scope-${i}`)
    for (const scope of [...strings, ...strings]) await judge(requestOf({ scope }))
    assert.equal(asked.length, 6_000 - 2_000)
  })

  it('is kept for every way to be granted something, so that no client can push out those of another', async () => {
    const granting = createGrantJudge({ issuer: 'https://issuer.test', resource: 'https://api.test' })
    let asked = 0
    const judge = createRememberingJudge(async (request) => {
      asked += 1
      return granting(request)
    })
    const all = subsets(SCOPES).flatMap((assigned) =>
      subsets(assigned).flatMap((some) =>
        orders(some).flatMap((names) =>
          ['https://api.test', 'https://api.test/'].map((resource) =>
            requestOf({ assigned, scope: names.join(' '), resource }),
          ),
        ),
      ),
    )
    assert.equal(all.length, 1_680)
    for (const request of [...all, ...all]) assert.equal(await judge(request), undefined, request.scope)
    assert.equal(asked, all.length)
  })
})

describe('the identifier of an API that has a path', () => {
  it('is another with a slash at its end', async () => {
    const resource = 'https://api.test/v1'
    const judge = createGrantJudge({ issuer: 'https://issuer.test', resource })
    const request = {
      assigned: ['analytics:read'],
      grantType: 'client_credentials',
      scope: 'analytics:read',
    } as const
    assert.equal(await judge({ ...request, resource }), undefined)
    const refused = await judge({ ...request, resource: `${resource}/` })
    assert.equal(refused?.parts.error, 'invalid_target')
  })
})

/** All but the empty one. */
const subsets = (scopes: readonly Scope[]): Scope[][] =>
  Array.from({ length: 2 ** scopes.length - 1 }, (_, bits) => scopes.filter((_, i) => ((bits + 1) >> i) & 1))

const orders = (scopes: readonly Scope[]): Scope[][] =>
  scopes.length < 2
    ? [[...scopes]]
    : scopes.flatMap((first) =>
        orders(scopes.filter((scope) => scope !== first)).map((rest) => [first, ...rest]),
      )
