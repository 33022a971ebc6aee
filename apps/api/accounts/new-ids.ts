import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { CLIENT_SECRET_PATTERN } from '#shared/oauth/ids.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CLIENT_ID_BITS = 128
const SECRET_BITS = 256
const CHECKSUM_CHARACTERS = 6

const CLIENT_SECRET_PREFIX = 'ias_'
const SESSION_TOKEN_PREFIX = 'ses_'

function base62(value: bigint, length: number): string {
  let text = ''
  for (let remaining = value; text.length < length; remaining /= 62n)
    text = BASE62[Number(remaining % 62n)] + text
  return text
}

function randomBase62(bits: number): string {
  const length = Math.ceil(bits / Math.log2(62))
  return base62(BigInt(`0x${randomBytes(bits / 8).toString('hex')}`), length)
}

/** A client's public id: `cli_` and 128 random bits. It names the client; it is not a secret. */
export const newClientId = (): string => `cli_${randomBase62(CLIENT_ID_BITS)}`

/** The public id of a service that may introspect tokens. */
export const newServiceId = (): string => `svc_${randomBase62(CLIENT_ID_BITS)}`

export const newUserId = (): string => `usr_${randomBase62(CLIENT_ID_BITS)}`
export const newVendorId = (): string => `ven_${randomBase62(CLIENT_ID_BITS)}`

/** 256 random bits behind a fixed prefix, with a CRC-32 of them at the end. */
export function newClientSecret(): string {
  const random = randomBase62(SECRET_BITS)
  return `${CLIENT_SECRET_PREFIX}${random}${checksum(random)}`
}

const checksum = (random: string): string => base62(BigInt(crc32(random)), CHECKSUM_CHARACTERS)

/**
 * Whether a text can be a client secret. This says nothing about whether it is one: a checksum has no key, so
 * that scanners can check it.
 */
export const hasSecretChecksum = (text: string): boolean =>
  CLIENT_SECRET_PATTERN.exec(text)?.[0] === text &&
  text.endsWith(checksum(text.slice(CLIENT_SECRET_PREFIX.length, -CHECKSUM_CHARACTERS)))

const SECRET_HINT_CHARACTERS = 4

/** How a person recognizes a secret: by its last characters, which belong to its checksum. */
export const secretHint = (secret: string): string => secret.slice(-SECRET_HINT_CHARACTERS)

export const newInvitationToken = (): string => `inv_${randomBase62(SECRET_BITS)}`
export const newPasswordResetToken = (): string => `pwr_${randomBase62(SECRET_BITS)}`
export const newSessionToken = (): string => `${SESSION_TOKEN_PREFIX}${randomBase62(SECRET_BITS)}`
