import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Bytes kept of a SHA-256. With 50,000 entries, one in 5 billion passwords is mistaken for one. */
const ENTRY_BYTES = 6

let entries: Buffer | undefined

/**
 * Whether this is one of the 50,000 commonest passwords, ignoring case. They are kept as sorted hashes: about
 * 300 KB, read from the file when first needed.
 */
export function isCommonPassword(password: string): boolean {
  entries ??= readFileSync(join(import.meta.dirname, 'common-passwords.bin'))
  const entry = hashEntry(password)
  let [low, high] = [0, entries.length / ENTRY_BYTES]
  while (low < high) {
    const middle = (low + high) >>> 1
    const at = middle * ENTRY_BYTES
    const order = entry.compare(entries, at, at + ENTRY_BYTES)
    if (order === 0) return true
    if (order < 0) high = middle
    else low = middle + 1
  }
  return false
}

/** Returns the file that `isCommonPassword` reads. */
export function commonPasswordsFile(passwords: readonly string[]): Buffer {
  const unique = new Map(passwords.map(hashEntry).map((entry) => [entry.toString('hex'), entry]))
  return Buffer.concat([...unique.values()].sort(Buffer.compare))
}

const hashEntry = (password: string): Buffer =>
  createHash('sha256').update(password.normalize('NFKC').toLowerCase()).digest().subarray(0, ENTRY_BYTES)
