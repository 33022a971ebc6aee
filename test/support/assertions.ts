import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { type JWK, SignJWT } from 'jose'
import type { NewTestClient, TestAuth, TestClient } from './auth.ts'
import { ISSUER } from './issuer.ts'

export const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const GENERATE = {
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  Ed25519: () => generateKeyPairSync('ed25519'),
  RSA: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
}
export type KeyKind = keyof typeof GENERATE

export type KeyPair = ReturnType<typeof newKeyPair>

export function newKeyPair(kind: KeyKind = 'P-256') {
  const { privateKey, publicKey } = GENERATE[kind]()
  return { privateKey, publicKey, jwk: publicKey.export({ format: 'jwk' }) as JWK }
}

export interface KeyClient extends TestClient {
  keys: KeyPair
}

/** A client that authenticates by assertions. Its `clientSecret` was never stored. */
export async function createKeyClient(
  auth: TestAuth,
  { kind, ...given }: NewTestClient & { kind?: KeyKind } = {},
): Promise<KeyClient> {
  const keys = newKeyPair(kind)
  return { ...(await auth.createClient({ ...given, publicKey: keys.jwk })), keys }
}

/** Returns the claims of a valid assertion that lives for a minute. */
export function goodClaims({ clientId }: TestClient, now_ms: number): Record<string, unknown> {
  const iat = Math.floor(now_ms / 1_000)
  return { iss: clientId, sub: clientId, aud: ISSUER, iat, exp: iat + 60, jti: randomUUID() }
}

/** Signs a JWT, without the members that are undefined. */
export const signJwt = (
  claims: Record<string, unknown>,
  key: KeyObject | Uint8Array,
  header: Record<string, unknown> & { alg: string },
): Promise<string> => new SignJWT(claims).setProtectedHeader(header).sign(key)

/** Returns a valid assertion of the client, changed by `claims` and `header`. */
export const signAssertion = (
  client: KeyClient,
  now_ms: number,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> =>
  signJwt({ ...goodClaims(client, now_ms), ...claims }, client.keys.privateKey, { alg: 'ES256', ...header })

export const assertionFields = (assertion: string): Record<string, string> => ({
  client_assertion_type: JWT_BEARER,
  client_assertion: assertion,
})

/** What makes a token request of the client one by assertion, changed by `claims`. */
export const byAssertion = async (auth: TestAuth, client: KeyClient, claims: object = {}) => ({
  client_id: undefined,
  client_secret: undefined,
  ...assertionFields(await signAssertion(client, auth.clock.now(), { ...claims })),
})

/** Encodes a part of a JWS. A string is taken as it is. */
export const encode = (part: object | string): string =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')

/** Signs by ES256 what no library would sign. */
export function signByHand({ keys }: KeyClient, header: object, claims: object | string): string {
  const signed = `${encode(header)}.${encode(claims)}`
  const key = { key: keys.privateKey, dsaEncoding: 'ieee-p1363' as const }
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
}
