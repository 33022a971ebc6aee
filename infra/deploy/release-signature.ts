import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type DebianProgram, debianProgram, type Executable } from '../local/debian-program.ts'
import { Failure } from '../local/failure.ts'
import { interruption } from './release-step.ts'

const PASSWORD_ATTEMPTS = 3
const MINISIGN: DebianProgram = {
  title: 'minisign',
  names: ['minisign'],
  package: 'minisign',
  linksTo: ['libsodium23'],
  versionOption: '-v',
  isUsable: (version) => version.startsWith('minisign '),
  missing: (why) =>
    `minisign, which signs, was not found, nor could it be fetched (${why}): install minisign.`,
}

/** @throws Failure that says what to do if it is not installed and Debian's package cannot be unpacked. */
export const findMinisign = (say?: (line: string) => void): Promise<Executable> =>
  debianProgram(MINISIGN, say)

/** The files of a key pair. */
export interface KeyPair {
  key: string
  publicKey: string
}

/**
 * Signs the file, with a comment that the signature covers. minisign asks at the terminal for the key's password.
 * @throws Failure after three attempts, or if the public key is not the key's.
 */
export async function sign(
  { command, env }: Executable,
  file: string,
  { key, publicKey }: KeyPair,
  comment: string,
): Promise<void> {
  const minisign = async (...args: string[]): Promise<boolean> => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: 'inherit',
      signal: interruption.signal,
    })
    const [code] = await once(child, 'exit')
    return code === 0
  }
  for (let attempt = 0; attempt < PASSWORD_ATTEMPTS; attempt++) {
    if (!(await minisign('-S', '-s', key, '-m', file, '-t', comment))) continue
    if (await minisign('-V', '-q', '-p', publicKey, '-m', file)) return
    throw new Failure(`${publicKey} is not the public key of ${key}, so the release was not written.`)
  }
  throw new Failure(`${key} did not sign the release, so it was not written.`)
}
