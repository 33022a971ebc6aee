import type { NewClient } from '../api/contract.ts'

/** The `alg` of a key's signatures (RFC 7518 §3.1, RFC 8037 §3.1). */
export type KeyAlgorithm = 'ES256' | 'EdDSA' | 'RS256'

type Jwk = NonNullable<NewClient['publicKey']>

export interface PublicKey {
  /** Only the members that make up the public key. */
  jwk: Jwk
  /** RFC 7638, by SHA-256, in base64url. */
  thumbprint: string
  algorithm: KeyAlgorithm
}

interface Kind {
  kty: 'EC' | 'OKP' | 'RSA'
  algorithm: KeyAlgorithm
  imported: AlgorithmIdentifier & { namedCurve?: string; hash?: string }
  /** RFC 7638 §3.2: the members of its thumbprint, in their order. They are also all of the public key. */
  members: readonly (keyof JsonWebKey)[]
}

const P256: Kind = {
  kty: 'EC',
  algorithm: 'ES256',
  imported: { name: 'ECDSA', namedCurve: 'P-256' },
  members: ['crv', 'kty', 'x', 'y'],
}
const KINDS: readonly Kind[] = [
  P256,
  { kty: 'OKP', algorithm: 'EdDSA', imported: { name: 'Ed25519' }, members: ['crv', 'kty', 'x'] },
  {
    kty: 'RSA',
    algorithm: 'RS256',
    imported: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    members: ['e', 'kty', 'n'],
  },
]

const RSA_BITS = { min: 2048, max: 4096 }
/** Longer than any key in use. */
const PASTED_MAX = 20_000

/** A PEM label, or a member that only a private JWK has (RFC 7518 §6), wherever it is in the text. */
const PRIVATE = /PRIVATE KEY|"(?:d|k|p|q|dp|dq|qi|oth)"\s*:/

const UNREADABLE =
  'This is not a public key that can be used here. Paste a P-256, Ed25519 or RSA key, as PEM (-----BEGIN PUBLIC KEY-----) or as a JWK.'

/** Whether the text holds a private key. It is looked at here and sent nowhere. */
export const isPrivateKey = (text: string): boolean => PRIVATE.test(text)

/**
 * Makes a P-256 key pair.
 * Returns the public key, and the private key as PKCS #8 in PEM. The private key exists nowhere else.
 */
export async function makeKeyPair(): Promise<{ publicKey: PublicKey; privateKey: string }> {
  const pair = (await crypto.subtle.generateKey(P256.imported, true, ['sign', 'verify'])) as CryptoKeyPair
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey('pkcs8', pair.privateKey))
  const lines = base64(pkcs8).match(/.{1,64}/g) as string[]
  return {
    publicKey: await publicKeyOf(pair.publicKey, P256),
    privateKey: `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`,
  }
}

/** Reads a public key as PEM (SubjectPublicKeyInfo) or as a JWK. Returns what is wrong with any other text. */
export async function readPublicKey(text: string): Promise<PublicKey | { refused: string }> {
  if (isPrivateKey(text)) return { refused: 'This is a private key. Paste the public one.' }
  if (text.trim() === '') return { refused: 'Paste the public key.' }
  if (text.length > PASTED_MAX) return { refused: UNREADABLE }
  const key = await (text.trim().startsWith('{') ? fromJwk(text) : fromPem(text))
  if (!key) return { refused: UNREADABLE }
  const { modulusLength: bits = RSA_BITS.min } = key.imported.algorithm as Partial<RsaHashedKeyAlgorithm>
  if (bits < RSA_BITS.min || bits > RSA_BITS.max) {
    return { refused: `This RSA key has ${bits.toLocaleString('en')} bits. It needs 2,048 to 4,096.` }
  }
  return publicKeyOf(key.imported, key.kind)
}

interface ReadKey {
  imported: CryptoKey
  kind: Kind
}

async function fromPem(text: string): Promise<ReadKey | undefined> {
  const [, body = ''] =
    /^\s*-----BEGIN PUBLIC KEY-----([\sA-Za-z0-9+/=]+)-----END PUBLIC KEY-----\s*$/.exec(text) ?? []
  const spki = bytesOf(body.replaceAll(/\s/g, ''))
  for (const kind of spki ? KINDS : []) {
    const imported = await importedAs(kind, 'spki', spki as Uint8Array<ArrayBuffer>)
    if (imported) return { imported, kind }
  }
  return undefined
}

async function fromJwk(text: string): Promise<ReadKey | undefined> {
  let jwk: JsonWebKey
  try {
    jwk = JSON.parse(text)
  } catch {
    return undefined
  }
  const kind = KINDS.find(({ kty }) => kty === jwk.kty)
  // Without `use`, `key_ops` and `alg`, which some issuers set to what the key was for before.
  const imported = kind && (await importedAs(kind, 'jwk', publicMembers(jwk, kind)))
  return imported && { imported, kind }
}

async function importedAs(
  kind: Kind,
  format: 'spki' | 'jwk',
  key: Uint8Array<ArrayBuffer> | JsonWebKey,
): Promise<CryptoKey | undefined> {
  try {
    return await crypto.subtle.importKey(format as 'jwk', key as JsonWebKey, kind.imported, true, ['verify'])
  } catch {
    return undefined
  }
}

async function publicKeyOf(key: CryptoKey, kind: Kind): Promise<PublicKey> {
  const jwk = publicMembers(await crypto.subtle.exportKey('jwk', key), kind)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(jwk)))
  const thumbprint = base64(new Uint8Array(digest)).replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
  return { jwk, thumbprint, algorithm: kind.algorithm }
}

const publicMembers = (jwk: JsonWebKey, { members }: Kind): Jwk =>
  Object.fromEntries(members.map((member) => [member, jwk[member]])) as Jwk

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

function bytesOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
