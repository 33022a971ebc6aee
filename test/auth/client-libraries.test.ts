import assert from 'node:assert/strict'
import { OAuth2Client } from '@badgateway/oauth2-client'
import { decodeProtectedHeader, importSPKI, jwtVerify } from 'jose'
import { JwksClient } from 'jwks-rsa'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { ClientCredentials } from 'simple-oauth2'
import { rotateSigningKey, STANDBY_MIN_MS } from '../../infra/admin/keys.ts'
import { startAuth, TEST_ISSUER, TEST_RESOURCE, type TestAuth, type TestClient } from '../support/auth.ts'

const SCOPE = 'analytics:read'

describe('OAuth client libraries', () => {
  let auth: TestAuth
  let client: TestClient
  before(async () => {
    auth = await startAuth({ trusted: true })
    client = await auth.createClient()
  })
  after(() => auth.stop())

  const tokenUrl = () => `${auth.url}/v1/oauth/token`
  const revocationUrl = () => `${auth.url}/v1/oauth/revoke`
  const revokedTokens = async () => (await auth.db('revoked_tokens').select('jti')).length

  /** Passes if exactly one more token is revoked. */
  async function assertRevokes(revoke: () => Promise<unknown>): Promise<void> {
    const before = await revokedTokens()
    await revoke()
    assert.equal(await revokedTokens(), before + 1)
  }

  it('openid-client gets and revokes a token', async () => {
    const server = {
      issuer: TEST_ISSUER,
      token_endpoint: tokenUrl(),
      revocation_endpoint: revocationUrl(),
    }
    const configuration = new openid.Configuration(server, client.clientId, client.clientSecret)
    openid.allowInsecureRequests(configuration)
    const { access_token } = await openid.clientCredentialsGrant(configuration, { scope: SCOPE })
    await assertRevokes(() => openid.tokenRevocation(configuration, access_token))
  })

  for (const [way, authenticate] of [
    ['in the body', oauth.ClientSecretPost],
    ['by HTTP Basic', oauth.ClientSecretBasic],
  ] as const) {
    it(`oauth4webapi gets and revokes a token with the secret ${way}`, async () => {
      const server = {
        issuer: TEST_ISSUER,
        token_endpoint: tokenUrl(),
        revocation_endpoint: revocationUrl(),
      }
      const self = { client_id: client.clientId }
      const secret = authenticate(client.clientSecret)
      const options = { [oauth.allowInsecureRequests]: true }
      const parameters = new URLSearchParams({ scope: SCOPE })
      const response = await oauth.clientCredentialsGrantRequest(server, self, secret, parameters, options)
      const { access_token } = await oauth.processClientCredentialsResponse(server, self, response)
      await assertRevokes(async () => {
        const revoked = await oauth.revocationRequest(server, self, secret, access_token, options)
        await oauth.processRevocationResponse(revoked)
      })
    })
  }

  it('@badgateway/oauth2-client gets and revokes a token', async () => {
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

  for (const authorizationMethod of ['header', 'body'] as const) {
    it(`simple-oauth2, given http: { json: true }, gets and revokes a token with the secret in the ${authorizationMethod}`, async () => {
      const library = new ClientCredentials({
        client: { id: client.clientId, secret: client.clientSecret },
        auth: { tokenHost: auth.url, tokenPath: '/v1/oauth/token', revokePath: '/v1/oauth/revoke' },
        options: { authorizationMethod },
        // Without it the library refuses an answer that is not JSON, and the answer to a revocation has no body.
        http: { json: true },
      })
      const token = await library.getToken({ scope: SCOPE })
      await assertRevokes(() => token.revoke('access_token'))
    })
  }

  it('jwks-rsa finds the key of a token, before and after a rotation', async () => {
    const library = new JwksClient({ jwksUri: `${auth.url}/v1/oauth/jwks` })
    const { db, clock, encryptionKey } = auth
    /** @returns the id of the key that signed a new token, which the library has found. */
    const signedBy = async (server: TestAuth): Promise<string | undefined> => {
      const token: string = (await server.token(client)).json.access_token
      const { kid } = decodeProtectedHeader(token)
      const key = await library.getSigningKey(kid)
      await jwtVerify(token, await importSPKI(key.getPublicKey(), 'ES256'), {
        issuer: TEST_ISSUER,
        audience: TEST_RESOURCE,
        typ: 'at+jwt',
        currentDate: new Date(clock.now()),
      })
      return kid
    }
    const before = await signedBy(auth)
    clock.advance(STANDBY_MIN_MS)
    const { active } = await rotateSigningKey(db, { clock, encryptionKey: [encryptionKey], alg: 'ES256' })
    assert.notEqual(active.kid, before)
    const another = await startAuth({ beside: auth })
    try {
      assert.equal(await signedBy(another), active.kid)
    } finally {
      await another.stop()
    }
  })
})
