import type { NewClient } from '../api/contract.ts'

export type PublicKey = NonNullable<NewClient['publicKey']>

/** The `alg` of a key's signatures (RFC 7518 §3.1, RFC 8037 §3.1). */
export type KeyAlgorithm = 'ES256' | 'EdDSA' | 'RS256'

const P256 = { name: 'ECDSA', namedCurve: 'P-256' }

/** A PEM label, or a member that only a private JWK has (RFC 7518 §6), wherever it is in the text. */
const PRIVATE = /PRIVATE KEY|"(?:d|k|p|q|dp|dq|qi|oth)"\s*:/

/** Whether the text holds a private key. It is looked at here and sent nowhere. */
export const isPrivateKey = (text: string): boolean => PRIVATE.test(text)

/**
 * Makes a P-256 key pair.
 * Returns the public key, and the private key as PKCS #8 in PEM. The private key exists nowhere else.
 */
export async function makeKeyPair(): Promise<{ publicKey: PublicKey; privateKey: string }> {
  const pair = await crypto.subtle.generateKey(P256, true, ['sign', 'verify'])
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', pair.publicKey)
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey('pkcs8', pair.privateKey))
  const lines = btoa(String.fromCharCode(...pkcs8)).match(/.{1,64}/g) as string[]
  return {
    publicKey: { kty, crv, x, y } as PublicKey,
    privateKey: `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`,
  }
}

/** Returns pasted keys for the API to check: as JSON, or the text itself, which may be PEM. */
export function jsonIn<Keys>(text: string): Keys {
  try {
    return JSON.parse(text)
  } catch {
    return text as Keys
  }
}

/** Which signature the code to paste makes with a key, by the type in its JWK or PEM. */
export function detectAlgorithm(publicKey: string): KeyAlgorithm {
  if (/"OKP"|MCowBQYDK2Vw/.test(publicKey)) return 'EdDSA'
  return /"RSA"|KEY-----\s*MII/.test(publicKey) ? 'RS256' : 'ES256'
}
