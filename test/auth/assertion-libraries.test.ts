import { strict as assert } from 'node:assert'
import { execFile } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { type DebianProgram, debianProgram } from '../../infra/local/debian-program.ts'
import { startAuth, TEST_ISSUER, type TestAuth } from '../support/auth.ts'
import { shellWithCurl } from '../support/curl.ts'

const SCOPE = 'analytics:read'
const run = promisify(execFile)

const OPENSSL: DebianProgram = {
  title: 'OpenSSL',
  names: ['openssl'],
  package: 'openssl',
  linksTo: ['libssl3'],
  versionOption: 'version',
  isUsable: (version) => version.startsWith('OpenSSL '),
  missing: (why) => `There is no openssl: ${why}`,
}

/** Signs an assertion, and asks for a token with nothing but OpenSSL, curl and what every Debian has. */
const SHELL = `
b64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
now=$(date +%s)
header=$(printf '{"alg":"ES256"}' | b64url)
claims=$(printf '{"iss":"%s","sub":"%s","aud":"%s","iat":%d,"exp":%d,"jti":"%s"}' \\
  "$CLIENT_ID" "$CLIENT_ID" "$ISSUER" "$now" "$((now + 60))" "$(openssl rand -hex 16)" | b64url)
# OpenSSL writes the two numbers of the signature in DER; a JWT has them side by side.
signature=$(printf '%s.%s' "$header" "$claims" | openssl dgst -sha256 -sign private.pem |
  openssl asn1parse -inform DER | sed -n 's/.*INTEGER *://p' |
  while read -r number; do printf '%64s' "$number" | tr ' ' 0; done |
  perl -ne 'print pack "H*", $_' | b64url)
curl -sS "$TOKEN_URL" -d grant_type=client_credentials -d scope="$SCOPE" \\
  -d client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer \\
  -d client_assertion="$header.$claims.$signature"
`

describe('libraries that sign client assertions', () => {
  let auth: TestAuth
  before(async () => {
    auth = await startAuth({ trusted: true })
  })
  after(() => auth.stop())

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

  it('OpenSSL and curl in a shell get a token', async () => {
    const { command: openssl, env } = await debianProgram(OPENSSL)
    const directory = await mkdtemp(join(tmpdir(), 'assertion-'))
    const variables = { ...process.env, ...env, PATH: `${dirname(openssl)}:${process.env.PATH}` }
    const inside = { cwd: directory, env: variables }
    try {
      await run(
        openssl,
        ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'private.pem'],
        inside,
      )
      await run(openssl, ['ec', '-in', 'private.pem', '-pubout', '-out', 'public.pem'], inside)
      const pem = await readFile(join(directory, 'public.pem'))
      const publicKey = createPublicKey(pem).export({ format: 'jwk' }) as JWK
      const { clientId } = await auth.createClient({ publicKey })
      const asked = { CLIENT_ID: clientId, ISSUER: TEST_ISSUER, SCOPE, TOKEN_URL: endpoints().token_endpoint }
      // A number of the signature may begin with zeros.
      for (let times = 0; times < 5; times += 1) {
        const answer = await shellWithCurl(SHELL, directory, { ...variables, ...asked })
        assert.equal(JSON.parse(answer).scope, SCOPE, answer)
      }
    } finally {
      await rm(directory, { recursive: true })
    }
  })
})
