import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { createFetchKeys, type Outside } from '../../apps/api/clients/issuer-keys.ts'
import { startTcpReceiver } from '../support/receivers.ts'
import { OUTSIDE, startWorkloadIssuer, type TestWorkloadIssuer } from '../support/workload-issuer.ts'
import { found, resolverOf, ruleWith } from './callbacks/sending.ts'

const jwk = {
  ...generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey.export({ format: 'jwk' }),
  kid: 'k1',
}

describe('the keys of a workload’s issuer', () => {
  let server: TestWorkloadIssuer
  beforeEach(async () => {
    server = await startWorkloadIssuer([jwk])
  })
  afterEach(() => server.stop())

  const fetched = (outside: Partial<Outside> = {}, issuer = server.issuer) =>
    createFetchKeys({ ...OUTSIDE, ...outside })(issuer)
  const answer = (listener: (request: IncomingMessage, response: ServerResponse) => void) => {
    server.published.answer = listener
  }
  const json = (response: ServerResponse, body: unknown) => response.end(JSON.stringify(body))

  it('come from the jwks_uri of its discovery document', async () => {
    assert.deepEqual(await fetched(), [jwk])
    assert.deepEqual(server.requests, ['GET /.well-known/openid-configuration', 'GET /keys'])
  })

  it('are found below the path of the issuer, with or without a slash at its end', async () => {
    for (const path of ['/realms/acme', '/realms/acme/']) {
      const issuer = server.issuer + path
      server.published.discovery = { issuer, jwks_uri: `${server.issuer}/keys` }
      answer((request, response) =>
        json(response, request.url === '/keys' ? { keys: [jwk] } : server.published.discovery),
      )
      assert.deepEqual(await fetched({}, issuer), [jwk], path)
    }
    assert.deepEqual(
      [...new Set(server.requests)],
      ['GET /realms/acme/.well-known/openid-configuration', 'GET /keys'],
    )
  })

  const DISCOVERIES: [what: string, (issuer: string) => unknown, failure: string][] = [
    ['another issuer', (issuer) => ({ issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` }), 'other_issuer'],
    [
      'an issuer in other case',
      (issuer) => ({ issuer: issuer.toUpperCase(), jwks_uri: `${issuer}/keys` }),
      'other_issuer',
    ],
    ['no issuer', (issuer) => ({ jwks_uri: `${issuer}/keys` }), 'other_issuer'],
    ['no jwks_uri', (issuer) => ({ issuer }), 'no_jwks_uri'],
    ['a list as jwks_uri', (issuer) => ({ issuer, jwks_uri: [`${issuer}/keys`] }), 'no_jwks_uri'],
    ['a list', () => ['a'], 'other_issuer'],
    ['text', () => 'a', 'not_json'],
    ['null', () => null, 'not_json'],
    ...[
      'http://issuer.acme-platform.com/keys',
      'https://127.0.0.2/keys',
      'https://169.254.169.254/latest/meta-data',
      'https://[::1]/keys',
      'https://localhost/keys',
      'https://a.internal/keys',
      'https://user:pass@issuer.acme-platform.com/keys',
      'https://issuer.acme-platform.com:22/keys',
      'file:///etc/passwd',
    ].map((jwks_uri): [string, (issuer: string) => unknown, string] => [
      jwks_uri,
      (issuer) => ({ issuer, jwks_uri }),
      'url_refused',
    ]),
  ]
  for (const [what, discovery, failure] of DISCOVERIES)
    it(`are not fetched if discovery names ${what}`, async () => {
      answer((_, response) => json(response, discovery(server.issuer)))
      assert.equal(await fetched(), failure)
      assert.equal(server.requests.length, 1)
    })

  const PADDING = ' '.repeat(1_024 * 1_024)
  const KEY_SETS: Record<string, [keys: unknown, failure: string]> = {
    '21 keys': [{ keys: Array(21).fill(jwk) }, 'too_many_keys'],
    'a private key': [{ keys: [jwk, { ...jwk, d: 'AQAB' }] }, 'private_key'],
    'no key': [{ keys: [] }, 'no_usable_key'],
    'a list in place of a set': [[jwk], 'not_a_key_set'],
    'keys that are no objects': [{ keys: ['a'] }, 'not_a_key_set'],
    null: [{ keys: [null] }, 'not_a_key_set'],
  }
  for (const [what, [set, failure]] of Object.entries(KEY_SETS))
    it(`are refused if the set has ${what}`, async () => {
      answer((request, response) =>
        json(
          response,
          request.url === '/keys' ? set : { issuer: server.issuer, jwks_uri: `${server.issuer}/keys` },
        ),
      )
      assert.equal(await fetched(), failure)
    })

  const ANSWERS: Record<string, [(response: ServerResponse, issuer: string) => void, failure: string]> = {
    'a redirect to a private address': [
      (response) => response.writeHead(302, { location: 'https://169.254.169.254/' }).end(),
      'not_ok',
    ],
    'a redirect to itself': [
      (response, issuer) => response.writeHead(307, { location: issuer }).end(),
      'not_ok',
    ],
    'an error': [(response) => response.writeHead(500).end('{}'), 'not_ok'],
    'a part of it': [(response, issuer) => response.writeHead(206).end(JSON.stringify({ issuer })), 'not_ok'],
    '1 MiB': [(response) => response.end(`{"keys":[]}${PADDING}`), 'not_whole'],
    'an endless body': [
      (response) => {
        const timer = setInterval(() => response.write(PADDING), 5)
        response.on('close', () => clearInterval(timer))
      },
      'not_whole',
    ],
    'a body that breaks off': [
      (response) => {
        response.writeHead(200, { 'content-length': '100' })
        response.write('{')
        setTimeout(() => response.destroy(), 50)
      },
      'not_whole',
    ],
    'a body a byte at a time': [
      (response) => {
        const timer = setInterval(() => response.write(' '), 100)
        response.on('close', () => clearInterval(timer))
      },
      'not_whole',
    ],
    HTML: [(response) => response.end('<html>'), 'not_json'],
    'a gzip bomb': [
      (response) =>
        response
          .writeHead(200, { 'content-encoding': 'gzip' })
          .end(gzipSync(Buffer.alloc(10 * 1_024 * 1_024, 32))),
      'not_json',
    ],
    'brackets without end': [(response) => response.end('['.repeat(60_000)), 'not_json'],
  }
  for (const [what, [write, failure]] of Object.entries(ANSWERS))
    for (const document of ['discovery', 'keys'])
      it(`are not taken from ${what} in place of ${document}`, async () => {
        answer((request, response) =>
          document === 'discovery' || request.url === '/keys'
            ? void write(response, server.issuer)
            : void json(response, { issuer: server.issuer, jwks_uri: `${server.issuer}/keys` }),
        )
        const started_ms = performance.now()
        assert.equal(await fetched(), failure)
        assert.ok(performance.now() - started_ms < 6_000)
      })

  it('take five seconds at most for both documents', async () => {
    answer((request, response) => {
      if (request.url === '/keys') return
      setTimeout(() => json(response, { issuer: server.issuer, jwks_uri: `${server.issuer}/keys` }), 3_000)
    })
    const started_ms = performance.now()
    assert.equal(await fetched(), 'total_timeout')
    const took_ms = performance.now() - started_ms
    assert.ok(took_ms > 4_500 && took_ms < 6_000, `${took_ms} ms`)
  })

  it('never come from an address that is not public, whatever DNS says the second time', async () => {
    assert.equal(await fetched({ judgeAddress: ruleWith() }), 'address_not_public')
    const inside = await startTcpReceiver(() => {}, '127.0.0.2', server.receiver.port)
    const { resolve } = resolverOf(found('127.0.0.1'), found('127.0.0.2'))
    assert.equal(await fetched({ resolve }), 'address_not_public')
    assert.equal(inside.connections, 0)
    await inside.stop()
  })

  it('are fetched only with a certificate that is valid for the name', async () => {
    assert.equal(await fetched({ certificateAuthority: undefined }), 'certificate_unknown_issuer')
    const other = server.issuer.replace('issuer.', 'other.')
    assert.equal(await fetched({}, other), 'certificate_wrong_host')
  })

  for (const issuer of [
    'https://127.0.0.2',
    'https://169.254.169.254',
    'https://kubernetes.default.svc',
    'https://localhost:8443',
  ])
    it(`are not asked for at ${issuer}`, async () => {
      const { resolve, asked } = resolverOf(found('127.0.0.1'))
      assert.equal(await fetched({ resolve }, issuer), 'url_refused')
      assert.deepEqual(asked, [])
    })
})
