import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CLIENT_ID_BITS = 128
const SECRET_BITS = 256
const CHECKSUM_CHARACTERS = 6

export const CLIENT_SECRET_PREFIX = 'ias_'
export const SESSION_TOKEN_PREFIX = 'ses_'

/** What a client secret looks like: a fixed prefix, 256 random bits and a checksum, so that a scanner can find one. */
export const CLIENT_SECRET_PATTERN = /ias_[0-9A-Za-z]{49}/
export const SESSION_TOKEN_PATTERN = /ses_[0-9A-Za-z]{43}/
export const INVITATION_TOKEN_PATTERN = /inv_[0-9A-Za-z]{43}/

/** Exactly the id of a client, a company or a user. */
export const CLIENT_ID_PATTERN = /^cli_[A-Za-z0-9]{22}$/
export const VENDOR_ID_PATTERN = /^ven_[A-Za-z0-9]{1,60}$/
export const USER_ID_PATTERN = /^usr_[A-Za-z0-9]{1,60}$/

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = BASE62[Number(rest % 62n)] + text
  return text
}

function randomBase62(bits: number): string {
  const length = Math.ceil(bits / Math.log2(62))
  return base62(BigInt(`0x${randomBytes(bits / 8).toString('hex')}`), length)
}

/** A client's public id: `cli_` and 128 random bits. It names the client; it is not a secret. */
export const newClientId = (): string => `cli_${randomBase62(CLIENT_ID_BITS)}`

export const newUserId = (): string => `usr_${randomBase62(CLIENT_ID_BITS)}`
export const newVendorId = (): string => `ven_${randomBase62(CLIENT_ID_BITS)}`

/** 256 random bits behind a fixed prefix, with a CRC-32 of them at the end. */
export function newClientSecret(): string {
  const random = randomBase62(SECRET_BITS)
  return `${CLIENT_SECRET_PREFIX}${random}${base62(BigInt(crc32(random)), CHECKSUM_CHARACTERS)}`
}

const SECRET_HINT_CHARACTERS = 4

/** What a person recognizes a secret by: its last characters, which belong to its checksum. */
export const secretHint = (secret: string): string => secret.slice(-SECRET_HINT_CHARACTERS)

export const newInvitationToken = (): string => `inv_${randomBase62(SECRET_BITS)}`
export const newSessionToken = (): string => `${SESSION_TOKEN_PREFIX}${randomBase62(SECRET_BITS)}`

/**
 * SHA-256 of a random secret: what is stored in its place. A slow hash guards guessable passwords; there is
 * nothing to guess in 256 random bits.
 */
export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')
