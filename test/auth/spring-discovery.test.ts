import assert from 'node:assert/strict'
import { sharedAuth, TEST_ISSUER } from '../support/auth.ts'

type Metadata = Record<string, unknown>

const text = (value: unknown, name: string): string => {
  assert.equal(typeof value, 'string', `Missing JSON object member with key ${name}`)
  return value as string
}
const texts = (value: unknown, name: string): string[] => {
  assert.ok(Array.isArray(value), `Missing JSON object member with key ${name}`)
  return value.map((item) => text(item, name))
}

/** AuthorizationServerMetadata.parse of Nimbus' oauth2-oidc-sdk: only the issuer is required. */
function parseServer(metadata: Metadata): void {
  new URL(text(metadata.issuer, 'issuer'))
  for (const [name, value] of Object.entries(metadata)) {
    if (name.endsWith('_supported')) texts(value, name)
    if (name.endsWith('_endpoint') || name.endsWith('_uri')) new URL(text(value, name))
  }
}

/** OIDCProviderMetadata.parse of the same: requires the key set and the subject types as well. */
function parseProvider(metadata: Metadata): void {
  parseServer(metadata)
  text(metadata.jwks_uri, 'jwks_uri')
  for (const type of texts(metadata.subject_types_supported, 'subject_types_supported'))
    assert.ok(['public', 'pairwise'].includes(type), `Unknown subject type: ${type}`)
}

/** The places where ClientRegistrations.fromIssuerLocation looks, in its order, for an issuer without a path. */
const SUPPLIERS: [path: string, parse: (metadata: Metadata) => void][] = [
  ['/.well-known/openid-configuration', parseProvider],
  ['/.well-known/openid-configuration', parseProvider],
  ['/.well-known/oauth-authorization-server', parseServer],
]

describe('discovery by Spring Security from issuer-uri', () => {
  for (const alg of ['ES256', 'RS256'] as const) {
    describe(`when tokens are signed with ${alg}`, () => {
      const auth = sharedAuth({ env: { SIGNING_ALG: alg } })

      /** Goes on to the next place after a 4xx. Any other failure ends Spring's start. */
      async function discover(): Promise<Metadata> {
        for (const [path, parse] of SUPPLIERS) {
          const { status, json } = await auth.request('GET', path)
          if (status >= 400 && status < 500) continue
          assert.equal(status, 200)
          parse(json)
          return json
        }
        assert.fail('no place has the metadata')
      }

      it('ends Spring’s discovery at a document that it can parse', async () => {
        const metadata = await discover()
        assert.equal(metadata.issuer, TEST_ISSUER)
        assert.equal(metadata.token_endpoint, `${TEST_ISSUER}/v1/oauth/token`)
        assert.ok(texts(metadata.token_endpoint_auth_methods_supported, '').includes('client_secret_basic'))
        // go-oidc accepts only RS256 unless this member names another.
        assert.deepEqual(metadata.id_token_signing_alg_values_supported, [alg])
      })

      it('serves Spring an RFC 8414 document without members of OpenID Connect', async () => {
        const { json } = await auth.request('GET', '/.well-known/oauth-authorization-server')
        parseServer(json)
        assert.throws(() => parseProvider(json), /subject_types_supported/)
      })
    })
  }
})
