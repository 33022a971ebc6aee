import { strict as assert } from 'node:assert'
import { exportJWK, generateKeyPair } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { sharedAuth, TEST_ISSUER } from '../support/auth.ts'

const SCOPE = 'analytics:read'

describe('libraries that sign client assertions', () => {
  const auth = sharedAuth({ trusted: true })

  const endpoints = () => ({
    issuer: TEST_ISSUER,
    token_endpoint: `${auth.url}/v1/oauth/token`,
    revocation_endpoint: `${auth.url}/v1/oauth/revoke`,
  })
  const revokedTokens = async () => (await auth.db('revoked_tokens').select('jti')).length

  for (const alg of ['ES256', 'Ed25519', 'PS256', 'RS256']) {
    it(`oauth4webapi gets and revokes a token by ${alg}`, async () => {
      const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
      const client = await auth.createClient({ publicKey: await exportJWK(publicKey) })
      const self = { client_id: client.clientId }
      const by = oauth.PrivateKeyJwt(privateKey)
      const options = { [oauth.allowInsecureRequests]: true }
      const parameters = new URLSearchParams({ scope: SCOPE })
      const response = await oauth.clientCredentialsGrantRequest(endpoints(), self, by, parameters, options)
      const { access_token } = await oauth.processClientCredentialsResponse(endpoints(), self, response)
      const before = await revokedTokens()
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(endpoints(), self, by, access_token, options),
      )
      assert.equal(await revokedTokens(), before + 1)
    })
  }

  it('openid-client gets and revokes a token', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    const { clientId } = await auth.createClient({ publicKey: await exportJWK(publicKey) })
    const by = openid.PrivateKeyJwt(privateKey)
    const configuration = new openid.Configuration(endpoints(), clientId, undefined, by)
    openid.allowInsecureRequests(configuration)
    const { access_token } = await openid.clientCredentialsGrant(configuration, { scope: SCOPE })
    const before = await revokedTokens()
    await openid.tokenRevocation(configuration, access_token)
    assert.equal(await revokedTokens(), before + 1)
  })
})
