import assert from 'node:assert/strict'
import { exportJWK, generateKeyPair } from 'jose'
import * as oauth from 'oauth4webapi'
import { sharedAuth } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { ISSUER } from '../support/issuer.ts'

describe('an OAuth client library', () => {
  const auth = sharedAuth({ trusted: true })
  const client = forBlock(() => auth.createClient())

  async function byKey() {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    const { clientId } = await auth.createClient({ publicKey: await exportJWK(publicKey) })
    return { clientId, by: oauth.PrivateKeyJwt(privateKey) }
  }
  const WAYS: Record<string, () => Promise<{ clientId: string; by: oauth.ClientAuth }>> = {
    'the secret in the body': async () => ({ ...client, by: oauth.ClientSecretPost(client.clientSecret) }),
    'HTTP Basic': async () => ({ ...client, by: oauth.ClientSecretBasic(client.clientSecret) }),
    'an assertion': byKey,
  }
  for (const [way, authenticate] of Object.entries(WAYS))
    it(`gets and revokes a token with ${way}: oauth4webapi`, async () => {
      const { clientId, by } = await authenticate()
      const server = {
        issuer: ISSUER,
        token_endpoint: `${auth.url}/v1/oauth/token`,
        revocation_endpoint: `${auth.url}/v1/oauth/revoke`,
      }
      const self = { client_id: clientId }
      const options = { [oauth.allowInsecureRequests]: true }
      const parameters = new URLSearchParams({ scope: 'analytics:read' })
      const response = await oauth.clientCredentialsGrantRequest(server, self, by, parameters, options)
      const { access_token } = await oauth.processClientCredentialsResponse(server, self, response)
      const revoked = await oauth.revocationRequest(server, self, by, access_token, options)
      await oauth.processRevocationResponse(revoked)
      assert.equal((await auth.db('revoked_tokens').where({ client_id: clientId })).length, 1)
      await auth.db('revoked_tokens').delete()
    })
})
