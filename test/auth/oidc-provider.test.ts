import { strict as assert } from 'node:assert'
import { readFile } from 'node:fs/promises'
import { decodeJwt } from 'jose'
import type { Client } from 'oidc-provider'
import { SCOPES, type Scope } from '#shared/oauth/scopes.ts'
import { ConfigError } from '#shared/process/config.ts'
import { createGrants, type Grant } from '../../apps/auth/grant.ts'
import type { GrantRequest } from '../../apps/auth/grant-check.ts'
import { OAuthRefusal } from '../../apps/auth/http.ts'
import { startAuth } from '../support/auth.ts'
import { orders, subsets } from '../support/scopes.ts'
import { createTestKey } from '../support/token-key.ts'

const PINNED = '9.13.3'
const SERVER = { issuer: 'https://issuer.test', resource: 'https://api.test' }
const NOW_MS = 1_800_000_000_000

describe('oidc-provider, as it is used', () => {
  const { check } = createGrants(SERVER)(createTestKey())

  const requestWith = (assigned: readonly Scope[], changes: Partial<GrantRequest> = {}): GrantRequest => ({
    assigned,
    grantType: 'client_credentials',
    scope: 'analytics:read',
    resource: 'https://api.test',
    ...changes,
  })

  async function assertGranted(request: GrantRequest, { check }: Pick<Grant, 'check'>): Promise<Client> {
    const verdict = await check(request)
    if (verdict instanceof OAuthRefusal) assert.fail(`${request.scope}: ${verdict.parts.error}`)
    return verdict
  }

  it('runs the version that this code was read against', async () => {
    const read = async (path: string) => JSON.parse(await readFile(new URL(path, import.meta.url), 'utf8'))
    assert.equal((await read('../../package.json')).dependencies['oidc-provider'], PINNED)
    assert.equal((await read('../../node_modules/oidc-provider/package.json')).version, PINNED)
  })

  it('grants every subset of every set of scopes, in every order', async () => {
    const grantFor = createGrants(SERVER)
    // Each order has its own grant, which has cached no other order of the same scopes.
    const grants = orders(SCOPES).map(() => grantFor(createTestKey()))
    for (const assigned of subsets(SCOPES))
      for (const some of subsets(assigned))
        for (const [i, names] of orders(some).entries())
          await assertGranted(requestWith(assigned, { scope: names.join(' ') }), grants[i] as Grant)
  })

  it('refuses every scope that was not assigned, alone and in every place beside those that were', async () => {
    for (const assigned of subsets(SCOPES)) {
      const [foreign] = SCOPES.filter((scope) => !assigned.includes(scope))
      if (!foreign) continue
      for (const names of [[foreign], ...orders([...assigned.slice(0, 2), foreign])]) {
        const verdict = await check(requestWith(assigned, { scope: names.join(' ') }))
        assert.ok(verdict instanceof OAuthRefusal, `${names} to ${assigned}`)
        assert.equal(verdict.parts.error, 'invalid_scope')
      }
    }
  })

  it('never mixes clients or companies in tokens that are issued at the same time, nor repeats an id', async () => {
    const grant = createGrants(SERVER)(createTestKey())
    const tokens = await Promise.all(
      Array.from({ length: 2_000 }, async (_, i) => {
        const assigned = [SCOPES[i % 5] as Scope]
        const scope = assigned.join(' ')
        const granted = await assertGranted(requestWith(assigned, { scope }), grant)
        const clientId = `cli_${i}`
        const vendorId = `ven_${i % 7}`
        const { token, jti } = await grant.issue(granted, { clientId, vendorId }, scope, NOW_MS + 999)
        const expected = { clientId, sub: clientId, vendorId, scope, jti, iat: NOW_MS / 1_000 }
        return { expected, claims: decodeJwt(token) }
      }),
    )
    for (const { claims, expected } of tokens) {
      const { client_id: clientId, vendor_id: vendorId, sub, scope, jti, iat } = claims
      assert.deepEqual({ clientId, vendorId, sub, scope, jti, iat }, expected)
    }
    assert.equal(new Set(tokens.map(({ claims }) => claims.jti)).size, tokens.length)
  })

  it('fails the start of the server when it refuses the configuration', async () => {
    // Our own check of the configuration would refuse this setting too: no setting passes it and fails here.
    await assert.rejects(startAuth({ config: { ISSUER: 'no url' } }), (error: Error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, /^oidc-provider refuses its configuration: Issuer Identifier/)
      return true
    })
  })
})
