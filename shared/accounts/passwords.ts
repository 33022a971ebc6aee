import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const argon2Async = promisify(argon2)

/** OWASP's second choice for argon2id: 19 MiB, two passes, one lane; about 30 ms. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const TAG_BYTES = 32
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

export const PASSWORD_MIN_CHARACTERS = 12
export const PASSWORD_MAX_BYTES = 1_024

/** @returns the argon2id hash of a password in PHC string format. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const tag = await derive(password, salt, PARAMETERS, TAG_BYTES)
  const { memory, passes, parallelism } = PARAMETERS
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`
}

/** @throws Error when `hash` is not a PHC string of argon2id. */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt = '', tag = ''] = PHC.exec(hash) ?? []
  if (!tag) throw new Error('a stored password hash is not argon2id in PHC format')
  const expected = Buffer.from(tag, 'base64')
  const parameters = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
  const actual = await derive(password, Buffer.from(salt, 'base64'), parameters, expected.length)
  return timingSafeEqual(actual, expected)
}

function derive(password: string, nonce: Buffer, parameters: typeof PARAMETERS, tagLength: number) {
  // NFKC (NIST SP 800-63B): the same password typed on another keyboard is the same password.
  return argon2Async('argon2id', { message: password.normalize('NFKC'), nonce, tagLength, ...parameters })
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')
