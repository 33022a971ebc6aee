import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { OAuth2Client } from '@badgateway/oauth2-client'
import { JwtVerifier } from 'aws-jwt-verify'
import { SimpleJwksCache } from 'aws-jwt-verify/jwk'
import express from 'express'
import { auth as bearer } from 'express-oauth2-jwt-bearer'
import { createRemoteJWKSet, decodeProtectedHeader, exportJWK, generateKeyPair, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { ClientCredentials } from 'simple-oauth2'
import { markSigningKeyRevoked, rotateSigningKey } from '../../infra/admin/keys.ts'
import { sharedAuth, startAuth, type TestAuth, type TestClient } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'
import { testOperator } from '../support/operator.ts'

const SCOPE = 'analytics:read'

describe('OAuth client libraries', () => {
  const auth = sharedAuth({ trusted: true })
  let client: TestClient
  before(async () => {
    client = await auth.createClient()
  })

  const tokenUrl = () => `${auth.url}/v1/oauth/token`
  const revocationUrl = () => `${auth.url}/v1/oauth/revoke`
  const endpoints = () => ({
    issuer: ISSUER,
    token_endpoint: tokenUrl(),
    revocation_endpoint: revocationUrl(),
  })
  const revokedTokens = async () => (await auth.db('revoked_tokens').select('jti')).length

  /** Passes if exactly one more token is revoked. */
  async function assertRevokes(revoke: () => Promise<unknown>): Promise<void> {
    const before = await revokedTokens()
    await revoke()
    assert.equal(await revokedTokens(), before + 1)
  }

  const byKey = async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    const { clientId } = await auth.createClient({ publicKey: await exportJWK(publicKey) })
    return { clientId, by: oauth.PrivateKeyJwt(privateKey) }
  }
  const WAYS: Record<string, () => Promise<{ clientId: string; by: oauth.ClientAuth }>> = {
    'the secret in the body': async () => ({ ...client, by: oauth.ClientSecretPost(client.clientSecret) }),
    'HTTP Basic': async () => ({ ...client, by: oauth.ClientSecretBasic(client.clientSecret) }),
    'an assertion': byKey,
  }
  for (const [way, authenticate] of Object.entries(WAYS)) {
    it(`serves oauth4webapi, which gets and revokes a token with ${way}`, async () => {
      const { clientId, by } = await authenticate()
      const self = { client_id: clientId }
      const options = { [oauth.allowInsecureRequests]: true }
      const parameters = new URLSearchParams({ scope: SCOPE })
      const response = await oauth.clientCredentialsGrantRequest(endpoints(), self, by, parameters, options)
      const { access_token } = await oauth.processClientCredentialsResponse(endpoints(), self, response)
      await assertRevokes(async () => {
        const revoked = await oauth.revocationRequest(endpoints(), self, by, access_token, options)
        await oauth.processRevocationResponse(revoked)
      })
    })
  }

  it('serves @badgateway/oauth2-client, which gets and revokes a token', async () => {
    const library = new OAuth2Client({
      server: auth.url,
      clientId: client.clientId,
      clientSecret: client.clientSecret,
      tokenEndpoint: tokenUrl(),
      revocationEndpoint: revocationUrl(),
    })
    const token = await library.clientCredentials({ scope: [SCOPE] })
    await assertRevokes(() => library.revoke(token, 'access_token'))
  })

  it('serves simple-oauth2, given http: { json: true }, which gets and revokes a token', async () => {
    const library = new ClientCredentials({
      client: { id: client.clientId, secret: client.clientSecret },
      auth: { tokenHost: auth.url, tokenPath: '/v1/oauth/token', revokePath: '/v1/oauth/revoke' },
      // Without it the library refuses an answer that is not JSON, and a revocation's answer has no body.
      http: { json: true },
    })
    const token = await library.getToken({ scope: SCOPE })
    await assertRevokes(() => token.revoke('access_token'))
  })
})

/** Rejects unless the token is good. What the library caches, it keeps. */
type Verify = (token: string) => Promise<unknown>

const expressServers: Server[] = []
const EXPECTED = { issuer: ISSUER, audience: API_RESOURCE }

const VERIFIERS: Record<string, (jwksUri: string) => Verify> = {
  jose(jwksUri) {
    const keys = createRemoteJWKSet(new URL(jwksUri))
    return (token) => jwtVerify(token, keys, { ...EXPECTED, typ: 'at+jwt', algorithms: ['ES256'] })
  },
  'aws-jwt-verify'(jwksUri) {
    // Its own fetcher takes https only.
    const fetcher = { fetch: async (uri: string) => (await fetch(uri)).arrayBuffer() }
    const library = JwtVerifier.create(
      { ...EXPECTED, jwksUri },
      { jwksCache: new SimpleJwksCache({ fetcher }) },
    )
    return (token) => library.verify(token)
  },
  'express-oauth2-jwt-bearer'(jwksUri) {
    const middleware = bearer({ ...EXPECTED, jwksUri, tokenSigningAlg: 'ES256', strict: true })
    const app = express().set('env', 'test')
    app.get('/', middleware, (_, response) => void response.sendStatus(204))
    const server = app.listen(0, '127.0.0.1')
    expressServers.push(server)
    const listening = once(server, 'listening')
    return async (token) => {
      await listening
      const { port } = server.address() as AddressInfo
      const headers = { Authorization: `Bearer ${token}` }
      const { status } = await fetch(`http://127.0.0.1:${port}/`, { headers })
      assert.equal(status, 204)
    }
  },
}

describe('libraries that verify access tokens', () => {
  const server = sharedAuth()
  const client = forBlock(() => server.createClient())
  after(() => {
    for (const each of expressServers) each.close().closeAllConnections()
  })

  const requestToken = async (from: TestAuth): Promise<string> => (await from.token(client)).json.access_token
  const readKid = (token: string) => decodeProtectedHeader(token).kid as string
  const verifiersAt = ({ url }: TestAuth) =>
    Object.entries(VERIFIERS).map(([name, create]) => ({ name, verify: create(`${url}/v1/oauth/jwks`) }))
  const verifiedByAll = (verifiers: ReturnType<typeof verifiersAt>, token: string) =>
    Promise.all(
      verifiers.map(({ name, verify }) =>
        assert.doesNotReject(verify(token), `${name} refuses a token of ${readKid(token)}`),
      ),
    )

  it('verifies every token across a rotation and the revocation of the signing key', async () => {
    const { db, clock, encryptionKey } = server
    const known = verifiersAt(server)
    const first = await requestToken(server)
    await verifiedByAll(known, first)

    await db.raw("update signing_keys set created_at = created_at - interval '11 minutes'")
    await rotateSigningKey(db, { clock, encryptionKey: [encryptionKey], alg: 'ES256', by: testOperator() })
    clock.advance(1_000)
    const rotated = await startAuth({ beside: server })
    const second = await requestToken(rotated)
    assert.notEqual(readKid(second), readKid(first))
    // They still have the keys of before: the one that signs now was on standby then.
    await verifiedByAll(known, second)
    await verifiedByAll(known, first)

    const later = verifiersAt(rotated)
    await verifiedByAll(later, first)
    await db.transaction((transaction) => markSigningKeyRevoked(transaction, readKid(second), clock.now()))
    const afterwards = await startAuth({ beside: server })
    const third = await requestToken(afterwards)
    assert.notEqual(readKid(third), readKid(second))
    await verifiedByAll(later, third)

    for (const { name, verify } of verifiersAt(afterwards)) {
      await assert.rejects(
        verify(second),
        `${name} accepts a token of a revoked key that it has just looked for`,
      )
      await verify(third)
    }
    await Promise.all([rotated.stop(), afterwards.stop()])
  })
})
