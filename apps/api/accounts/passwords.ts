import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const argon2Async = promisify(argon2)

/** OWASP's second choice for argon2id: 19 MiB, two passes, one lane; about 30 ms. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const TAG_BYTES = 32
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

export const PASSWORD_MAX_BYTES = 1_024

/**
 * Returns the argon2id hash of a password in PHC string format.
 * @param saltFrom another hash of the same email address. With a shared salt, one derivation checks both.
 */
export async function hashPassword(password: string, { saltFrom }: { saltFrom?: string | undefined } = {}) {
  const salt = newSalt(saltFrom)
  return formatHash(salt, await derive(password, salt, PARAMETERS, TAG_BYTES))
}

/**
 * Returns a hash that no known password has, for an account without a password.
 * @param saltFrom as for hashPassword.
 */
export const unusableHash = (saltFrom?: string): string =>
  formatHash(newSalt(saltFrom), randomBytes(TAG_BYTES))

const newSalt = (saltFrom: string | undefined): Buffer =>
  saltFrom === undefined ? randomBytes(SALT_BYTES) : parseHash(saltFrom).salt

/**
 * Returns the index of the first hash that the password has, or -1. Hashes of one address share their salt:
 * however many there are, the work is that of one.
 * @throws Error when a hash is not a PHC string of argon2id.
 */
export async function indexOfPassword(password: string, hashes: readonly string[]): Promise<number> {
  const derivations = new Map<string, Promise<Buffer>>()
  const matches = hashes.map(async (hash) => {
    const { settings, salt, parameters, tag } = parseHash(hash)
    const derivation = derivations.get(settings) ?? derive(password, salt, parameters, tag.length)
    derivations.set(settings, derivation)
    return timingSafeEqual(await derivation, tag)
  })
  return (await Promise.all(matches)).indexOf(true)
}

function parseHash(hash: string) {
  const [, memory, passes, parallelism, salt = '', encodedTag = ''] = PHC.exec(hash) ?? []
  const tag = Buffer.from(encodedTag, 'base64')
  if (tag.length === 0) throw new Error('a stored password hash is not argon2id in PHC format')
  return {
    /** Everything that decides the derivation. */
    settings: `${hash.slice(0, hash.lastIndexOf('$'))}$${tag.length}`,
    salt: Buffer.from(salt, 'base64'),
    parameters: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    tag,
  }
}

function formatHash(salt: Buffer, tag: Buffer): string {
  const { memory, passes, parallelism } = PARAMETERS
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`
}

function derive(password: string, nonce: Buffer, parameters: typeof PARAMETERS, tagLength: number) {
  // NFKC (NIST SP 800-63B): the same password typed on another keyboard is the same password.
  return argon2Async('argon2id', { message: password.normalize('NFKC'), nonce, tagLength, ...parameters })
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')
