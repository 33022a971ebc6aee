import { strict as assert } from 'node:assert'
import { generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import Provider from 'oidc-provider'
import { newClientId } from '#shared/oauth/ids.ts'
import type { Scope } from '#shared/oauth/scopes.ts'
import type { AuthenticatedClient } from '../../apps/auth/authenticate.ts'
import { createTokenProtocol, type TokenRequest } from '../../apps/auth/protocol.ts'
import { Refusal, unavailable } from '../../apps/auth/refusal.ts'

const PINNED = '9.13.3'

/*
 * apps/auth/protocol.ts replaces three functions of oidc-provider and runs its middleware without a socket. None of
 * that is promised by its authors: these tests fail when a new version moves it.
 */
describe('oidc-provider, as it is used', () => {
  const protocol = createTokenProtocol({ issuer: 'https://issuer.test', resource: 'https://api.test' })

  const clientWith = (scopes: Scope[], hold?: Refusal): AuthenticatedClient => ({
    record: {
      clientId: newClientId(),
      vendorId: 'ven_x',
      scopes,
      secretHash: Buffer.alloc(32),
      status: 'Active',
    },
    signer: undefined as never,
    hold,
  })
  const requestOf = (client: AuthenticatedClient, changes: Partial<TokenRequest> = {}): TokenRequest => ({
    client,
    grantType: 'client_credentials',
    scope: 'analytics:read',
    resource: undefined,
    issue: () => `token of ${client.record.clientId}`,
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
    assert.equal(typeof provider.Client.prototype.compareClientSecret, 'function')
    const { prototype } = provider.ClientCredentials
    assert.equal(typeof prototype.save, 'function')
    assert.equal(Provider.ctx, undefined)
  })

  it('asks for the token once, with the scope that was asked for', async () => {
    const asked: string[] = []
    const client = clientWith(['analytics:read', 'boost:read'])
    const issue = (scope: string) => {
      asked.push(scope)
      return 'signed'
    }
    const scope = 'boost:read analytics:read'
    const response = await protocol.respond(requestOf(client, { scope, issue }))
    assert.deepEqual(response, { access_token: 'signed', token_type: 'Bearer', expires_in: 900, scope })
    assert.deepEqual(asked, [scope])
  })

  it('never asks for a token that is refused', async () => {
    const issue = () => assert.fail('a token was made')
    const hold = unavailable('test')
    const cases: [AuthenticatedClient, Partial<TokenRequest>, string][] = [
      [clientWith(['analytics:read'], hold), {}, 'temporarily_unavailable'],
      [clientWith(['analytics:read'], hold), { scope: 'boost:read' }, 'invalid_scope'],
      [clientWith(['analytics:read']), { scope: 'openid' }, 'invalid_scope'],
      [clientWith([]), {}, 'invalid_scope'],
      [clientWith(['analytics:read']), { grantType: 'implicit' }, 'unsupported_grant_type'],
      [clientWith(['analytics:read']), { resource: 'https://x.test' }, 'invalid_target'],
    ]
    for (const [client, changes, error] of cases) {
      const response = await protocol.respond(requestOf(client, { issue, ...changes }))
      assert.ok(response instanceof Refusal)
      assert.equal(response.error, error)
    }
  })

  it('keeps requests that run at the same time apart', async () => {
    const clients = Array.from({ length: 300 }, () => clientWith(['analytics:read']))
    const responses = await Promise.all(clients.map((client) => protocol.respond(requestOf(client))))
    for (const [i, response] of responses.entries()) {
      assert.ok(!(response instanceof Refusal))
      assert.equal(response.access_token, `token of ${clients[i]?.record.clientId}`)
    }
  })

  it('fails, and gives nothing, when the token cannot be made', async () => {
    const issue = () => {
      throw new Error('no key')
    }
    await assert.rejects(protocol.respond(requestOf(clientWith(['analytics:read']), { issue })))
  })

  it('prints nothing', async () => {
    const printed: unknown[] = []
    const { info, warn, error } = console
    const keep = (...words: unknown[]) => void printed.push(words)
    Object.assign(console, { info: keep, warn: keep, error: keep })
    try {
      const fresh = createTokenProtocol({ issuer: 'https://issuer.test', resource: 'https://api.test' })
      await fresh.respond(requestOf(clientWith(['analytics:read'])))
      await fresh.respond(requestOf(clientWith(['analytics:read']), { scope: 'x' }))
    } finally {
      Object.assign(console, { info, warn, error })
    }
    assert.deepEqual(printed, [])
  })
})
