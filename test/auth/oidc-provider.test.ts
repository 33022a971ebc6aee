import { strict as assert } from 'node:assert'
import { generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import Provider from 'oidc-provider'
import type { Scope } from '#shared/oauth/scopes.ts'
import { createGrantJudge, type GrantRequest } from '../../apps/auth/grant-judge.ts'

const PINNED = '9.13.3'

/*
 * apps/auth/grant-judge.ts replaces two functions of oidc-provider and runs its middleware without a socket. Its
 * authors promise none of that: these tests fail when a new version moves it.
 */
describe('oidc-provider, as it is used', () => {
  const judge = createGrantJudge({ issuer: 'https://issuer.test', resource: 'https://api.test' })

  const requestOf = (assigned: Scope[], changes: Partial<GrantRequest> = {}): GrantRequest => ({
    assigned,
    grantType: 'client_credentials',
    scope: 'analytics:read',
    resource: 'https://api.test',
    ...changes,
  })

  it('is the version that this code was read against', async () => {
    const read = async (path: string) => JSON.parse(await readFile(new URL(path, import.meta.url), 'utf8'))
    assert.equal((await read('../../package.json')).dependencies['oidc-provider'], PINNED)
    assert.equal((await read('../../node_modules/oidc-provider/package.json')).version, PINNED)
  })

  it('has what is replaced, where it is replaced', () => {
    const provider = new Provider('https://issuer.test', {
      adapter: class {} as never,
      jwks: {
        keys: [
          generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
        ] as never,
      },
      features: { devInteractions: { enabled: false } },
    })
    assert.equal(provider.middleware.length, 1)
    assert.equal(typeof provider.createContext, 'function')
    assert.equal(typeof provider.Client.find, 'function')
    const { prototype } = provider.ClientCredentials
    assert.equal(typeof prototype.save, 'function')
    assert.equal(Provider.ctx, undefined)
  })

  it('grants any non-empty subset of the scopes, in any order', async () => {
    const client: Scope[] = ['analytics:read', 'boost:read']
    for (const scope of ['analytics:read', 'boost:read', 'boost:read analytics:read'])
      assert.equal(await judge(requestOf(client, { scope })), undefined, scope)
  })

  it('takes the API for the same resource with a slash at its end', async () => {
    const client: Scope[] = ['analytics:read']
    assert.equal(await judge(requestOf(client, { resource: 'https://api.test/' })), undefined)
    const below = createGrantJudge({ issuer: 'https://issuer.test', resource: 'https://api.test/v1' })
    const refusal = await below(requestOf(client, { resource: 'https://api.test/v1/' }))
    assert.equal(refusal?.parts.error, 'invalid_target')
  })

  const refusals: [string, Scope[], Partial<GrantRequest>, string][] = [
    ['a scope that the client lacks', ['analytics:read'], { scope: 'boost:read' }, 'invalid_scope'],
    ['a scope that does not exist', ['analytics:read'], { scope: 'openid' }, 'invalid_scope'],
    [
      'one that exists and one that does not',
      ['analytics:read'],
      { scope: 'analytics:read x' },
      'invalid_scope',
    ],
    ['no scope', ['analytics:read'], { scope: '' }, 'invalid_scope'],
    ['a scope twice', ['analytics:read'], { scope: 'analytics:read analytics:read' }, 'invalid_scope'],
    [
      'two spaces',
      ['analytics:read', 'boost:read'],
      { scope: 'analytics:read  boost:read' },
      'invalid_scope',
    ],
    ['anything to a client without scopes', [], {}, 'invalid_scope'],
    ['another grant', ['analytics:read'], { grantType: 'implicit' }, 'unsupported_grant_type'],
    ['a refresh token', ['analytics:read'], { grantType: 'refresh_token' }, 'unsupported_grant_type'],
    ['another resource', ['analytics:read'], { resource: 'https://x.test' }, 'invalid_target'],
    ['a resource that is no URL', ['analytics:read'], { resource: 'x' }, 'invalid_target'],
  ]
  for (const [what, scopes, changes, error] of refusals) {
    it(`refuses ${what}`, async () => {
      assert.equal((await judge(requestOf(scopes, changes)))?.parts.error, error)
    })
  }

  it('keeps requests that run at the same time apart', async () => {
    const scopes: Scope[] = ['analytics:read', 'boost:read']
    const requests = Array.from({ length: 300 }, (_, i) =>
      requestOf([scopes[i % 2] as Scope], { scope: scopes[i % 3 === 0 ? 0 : 1] as Scope }),
    )
    const verdicts = await Promise.all(requests.map(judge))
    for (const [i, { assigned, scope }] of requests.entries())
      assert.equal(verdicts[i] === undefined, (assigned as readonly string[]).includes(scope))
  })

  it('prints nothing', async () => {
    const printed: unknown[] = []
    const { info, warn, error } = console
    const keep = (...words: unknown[]) => void printed.push(words)
    Object.assign(console, { info: keep, warn: keep, error: keep })
    try {
      const fresh = createGrantJudge({ issuer: 'https://issuer.test', resource: 'https://api.test' })
      await fresh(requestOf(['analytics:read']))
      await fresh(requestOf(['analytics:read'], { scope: 'x' }))
    } finally {
      Object.assign(console, { info, warn, error })
    }
    assert.deepEqual(printed, [])
  })
})
