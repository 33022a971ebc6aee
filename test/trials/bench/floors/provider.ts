/*
 * oidc-provider as its documentation sets it up for client credentials and JWT access tokens, with its
 * in-memory adapter and one client whose secret is stored as it is. No hashing, no revocation, no limit, no
 * log.
 */
import { generateKeyPairSync } from 'node:crypto'
import Provider from 'oidc-provider'

const { BENCH_CLIENT_ID = '', BENCH_CLIENT_SECRET = '', PORT } = process.env
const origin = `http://127.0.0.1:${PORT}`
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const scope = 'analytics:read'

const provider = new Provider(origin, {
  clients: [
    {
      client_id: BENCH_CLIENT_ID,
      client_secret: BENCH_CLIENT_SECRET,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_post',
      id_token_signed_response_alg: 'ES256',
      scope,
    },
  ],
  responseTypes: [],
  scopes: [scope],
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'floor' }] },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => origin,
      getResourceServerInfo: () => ({
        scope,
        audience: origin,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 900,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
})
provider.listen(Number(PORT), '127.0.0.1')
process.once('disconnect', () => process.exit())
