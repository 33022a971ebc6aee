import { type KeyObject, sign } from 'node:crypto'
import type { JWK } from 'jose'
import { ExternalSigningKey } from 'oidc-provider'
import type { decryptSigningKey, SigningAlg } from '#shared/oauth/signing-keys.ts'

type OpenedKey = NonNullable<ReturnType<typeof decryptSigningKey>>

/**
 * A key that signs access tokens, or has signed some that are still valid. The private half stays in this
 * object. With a JWK instead, oidc-provider would sign in a thread, at more than twice the cost.
 */
export class TokenKey extends ExternalSigningKey {
  readonly #key: OpenedKey

  constructor(key: OpenedKey) {
    super()
    this.#key = key
  }

  override get kid(): string {
    return this.#key.kid
  }

  override get alg(): SigningAlg {
    return this.#key.alg
  }

  get publicJwk(): JWK {
    return this.#key.publicJwk
  }

  override keyObject(): KeyObject {
    return this.#key.publicKey
  }

  override sign(data: Uint8Array): Uint8Array {
    const signature = sign('sha256', data, this.#key.privateKey)
    return this.alg === 'ES256' ? joseSignature(signature) : signature
  }
}

const P256_BYTES = 32

/**
 * Converts a DER signature to r and s side by side, as JWS requires (RFC 7518 §3.4). Asking Node 24 for that
 * form (`dsaEncoding: 'ieee-p1363'`) halves the speed of signing.
 */
export function joseSignature(der: Buffer): Buffer {
  const raw = Buffer.alloc(2 * P256_BYTES)
  // SEQUENCE (2 bytes), INTEGER, length, r, INTEGER, length, s. An integer may be short or start with a zero.
  let offset = 2
  for (let end = P256_BYTES; end <= 2 * P256_BYTES; end += P256_BYTES) {
    const length = der[offset + 1] as number
    const start = offset + 2 + Math.max(0, length - P256_BYTES)
    offset += 2 + length
    der.copy(raw, end - (offset - start), start, offset)
  }
  return raw
}
