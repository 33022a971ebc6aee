import { createServer, type IncomingHttpHeaders } from 'node:http'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import { drain, listen } from '#shared/process/http-server.ts'
import type { TestClock } from './clock.ts'

export const ISSUER = 'https://issuer.test'
export const API_RESOURCE = 'https://api.test'

export interface TestKey {
  kid: string
  alg: string
  privateKey: CryptoKey
  publicJwk: JWK
}

export interface TokenOptions {
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
  key?: TestKey
}

export type TestIssuer = Awaited<ReturnType<typeof createTestIssuer>>

type KeySetAnswer = { status: number; body?: string; headers?: Record<string, string> }

/** Stands in for the authorization server: serves a key set and signs whatever an attack needs. */
export async function createTestIssuer({ clock }: { clock: TestClock }) {
  const requests: IncomingHttpHeaders[] = []
  let override: KeySetAnswer | undefined
  let gate: Promise<void> | undefined
  const key = await newKey('key-1')
  const published = [key.publicJwk]
  const server = createServer(async ({ headers }, response) => {
    requests.push(headers)
    const { status = 200, body = JSON.stringify({ keys: published }), headers: others = {} } = override ?? {}
    await gate
    response.writeHead(status, { 'content-type': 'application/json', ...others })
    response.end(body)
  })
  const port = await listen(server, { host: '127.0.0.1', port: 0 })
  return {
    jwksUrl: `http://127.0.0.1:${port}/v1/oauth/jwks`,
    /** The header fields of each request for the key set. */
    requests,
    /** The published keys, which a test may change. */
    published,
    /** Answers with this in place of the key set. */
    answerWith(answer: KeySetAnswer | undefined) {
      override = answer
    },
    /** Answers nothing until the returned function is called, then what was published at each request. */
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
    key,
    newKey,
    /** Returns an access token as the authorization server issues it, but for what the options change. */
    token(
      {
        clientId,
        vendorId,
        scope = 'analytics:read',
      }: { clientId: string; vendorId: string; scope?: string },
      { claims = {}, header = {}, key: signer = key }: TokenOptions = {},
    ): Promise<string> {
      const iat = Math.floor(clock.now() / 1_000)
      const payload: JWTPayload = {
        iss: ISSUER,
        aud: API_RESOURCE,
        sub: clientId,
        client_id: clientId,
        vendor_id: vendorId,
        scope,
        iat,
        exp: iat + 900,
        jti: crypto.randomUUID(),
        ...claims,
      }
      return new SignJWT(JSON.parse(JSON.stringify(payload)))
        .setProtectedHeader({ typ: 'at+jwt', alg: signer.alg, kid: signer.kid, ...header })
        .sign(signer.privateKey)
    },
    [Symbol.asyncDispose]: () => drain(server, 100),
  }
}

async function newKey(kid: string, alg = 'ES256'): Promise<TestKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}
