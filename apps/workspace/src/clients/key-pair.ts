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

/** rsaEncryption and id-ecPublicKey, which are in a public key and in a certificate, whoever signed that. */
const RSA_OID = '\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01'
const EC_OID = '\x2a\x86\x48\xce\x3d\x02\x01'

/** Which signature the code to paste makes with a key, by the type in its JWK or its first PEM. */
export function detectAlgorithm(publicKey: string): KeyAlgorithm {
  const der = decodePem(publicKey)
  if (/"RSA"|BEGIN RSA/.test(publicKey) || der.includes(RSA_OID)) return 'RS256'
  return /"EC"/.test(publicKey) || der.includes(EC_OID) ? 'ES256' : 'EdDSA'
}

/** Returns the bytes of the first PEM block as characters, '' if there is none. */
function decodePem(text: string): string {
  try {
    return atob(/-----BEGIN [A-Z ]+-----([A-Za-z0-9+/=\s]+)/.exec(text)?.[1] ?? '')
  } catch {
    return ''
  }
}
