import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Internet } from '../../apps/api/guarded-fetch/internet.ts'
import { createFetchKeys } from '../../apps/api/workload/fetch-keys.ts'
import { forEachTest } from '../support/block.ts'
import { startTcpReceiver } from '../support/receivers.ts'
import { startWorkloadIssuer } from '../support/workload-issuer.ts'
import { createResolution, resolverWith, ruleWith, TEST_INTERNET } from './callbacks/sending.ts'

const jwk = {
  ...generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey.export({ format: 'jwk' }),
  kid: 'k1',
}

describe('the keys of a workload’s issuer', () => {
  const server = forEachTest(() => startWorkloadIssuer([jwk]))

  const fetched = (internet: Partial<Internet> = {}, issuer = server.issuer) =>
    createFetchKeys({ ...TEST_INTERNET, ...internet })(issuer)
  const answer = (listener: (request: IncomingMessage, response: ServerResponse) => void) => {
    server.published.answer = listener
  }
  const discovery = () => ({ issuer: server.issuer, jwks_uri: `${server.issuer}/keys` })
  const json = (response: ServerResponse, body: unknown) => response.end(JSON.stringify(body))

  it('fetches keys from the jwks_uri of the issuer’s discovery document', async () => {
    assert.deepEqual(await fetched(), [jwk])
    assert.deepEqual(server.requests, ['GET /.well-known/openid-configuration', 'GET /keys'])
  })

  it('finds discovery below the issuer’s path, with or without a slash at its end', async () => {
    for (const path of ['/realms/acme', '/realms/acme/']) {
      const issuer = server.issuer + path
      server.published.discovery = { issuer, jwks_uri: `${server.issuer}/keys` }
      answer((request, response) =>
        json(response, request.url === '/keys' ? { keys: [jwk] } : server.published.discovery),
      )
      assert.deepEqual(await fetched({}, issuer), [jwk], path)
    }
    const discovered = 'GET /realms/acme/.well-known/openid-configuration'
    assert.deepEqual([...new Set(server.requests)], [discovered, 'GET /keys'])
  })

  const [HTTP, METADATA] = ['http://issuer.acme-platform.com/keys', 'https://169.254.169.254/latest']
  const DISCOVERIES: [what: string, (issuer: string, jwks_uri: string) => unknown, failure: RegExp][] = [
    ['another issuer', (issuer, jwks_uri) => ({ issuer: `${issuer}/`, jwks_uri }), /the slash at its end$/],
    ['other case', (issuer, jwks_uri) => ({ issuer: issuer.toUpperCase(), jwks_uri }), /must be the same/],
    ['no jwks_uri', (issuer) => ({ issuer }), /must have a jwks_uri/],
    ['a list as jwks_uri', (issuer, jwks_uri) => ({ issuer, jwks_uri: [jwks_uri] }), /must have a jwks_uri/],
    ['text', () => 'a', /must be JSON/],
    ['keys over HTTP', (issuer) => ({ issuer, jwks_uri: HTTP }), /public https URL/],
    ['keys of the metadata service', (issuer) => ({ issuer, jwks_uri: METADATA }), /public https URL/],
  ]
  for (const [what, document, failure] of DISCOVERIES)
    it(`fetches no keys if discovery names ${what}`, async () => {
      answer((_, response) => json(response, document(server.issuer, `${server.issuer}/keys`)))
      assert.match(String(await fetched()), failure)
      assert.equal(server.requests.length, 1)
    })

  const PADDING = ' '.repeat(1_024 * 1_024)
  it('refuses a key set with a private key', async () => {
    server.published.keys = [jwk, { ...jwk, d: 'AQAB' }]
    assert.match(String(await fetched()), /private or shared/)
  })

  const BOMB = gzipSync(Buffer.alloc(10 * 1_024 * 1_024, 32))
  const drip = (text: string, every_ms: number) => (response: ServerResponse) => {
    const timer = setInterval(() => response.write(text), every_ms)
    response.on('close', () => clearInterval(timer))
  }
  const ANSWERS: Record<string, [(response: ServerResponse) => void, failure: RegExp]> = {
    'a redirect': [(response) => response.writeHead(302, { location: METADATA }).end(), /status 200/],
    'an error': [(response) => response.writeHead(500).end('{}'), /status 200/],
    '1 MiB': [(response) => response.end(`{"keys":[]}${PADDING}`), /arrive whole/],
    'an endless body': [drip(PADDING, 5), /arrive whole/],
    'a body a byte at a time': [drip(' ', 100), /arrive whole/],
    'a gzip bomb': [(response) => response.setHeader('content-encoding', 'gzip').end(BOMB), /must be JSON/],
    'brackets without end': [(response) => response.end('['.repeat(60_000)), /must be JSON/],
  }
  for (const [what, [write, failure]] of Object.entries(ANSWERS))
    it(`takes no keys from ${what}`, async () => {
      answer((request, response) =>
        request.url === '/keys' ? void write(response) : void json(response, discovery()),
      )
      const started_ms = performance.now()
      assert.match(String(await fetched()), failure)
      assert.ok(performance.now() - started_ms < 20_000)
    })

  it('fetches discovery and keys in five seconds at most', async () => {
    answer((request, response) => {
      if (request.url === '/keys') return
      setTimeout(() => json(response, discovery()), 3_000)
    })
    const started_ms = performance.now()
    assert.match(String(await fetched()), /within 5 seconds/)
    const took_ms = performance.now() - started_ms
    // Not five for each.
    assert.ok(took_ms > 4_500 && took_ms < 7_500, `${took_ms} ms`)
  })

  it('fetches no keys from a private address, whatever DNS says the second time', async () => {
    assert.match(String(await fetched({ checkAddress: ruleWith() })), /address not public/)
    await using inside = await startTcpReceiver(() => {}, '127.0.0.2', server.receiver.port)
    const { resolve } = resolverWith(createResolution('127.0.0.1'), createResolution('127.0.0.2'))
    assert.match(String(await fetched({ resolve })), /address not public/)
    assert.equal(inside.connections, 0)
  })

  it('fetches keys only with a certificate that is valid for the name', async () => {
    assert.match(String(await fetched({ certificateAuthority: undefined })), /certificate unknown issuer/)
    const other = server.issuer.replace('issuer.', 'other.')
    assert.match(String(await fetched({}, other)), /certificate wrong host/)
  })
})
