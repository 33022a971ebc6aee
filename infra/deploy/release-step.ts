import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { Failure } from '../local/failure.ts'
import { heartbeat, linesTo } from '../progress.ts'

const STEP_DEADLINE_MS = 30 * 60_000
const OUTPUT_MAX_BYTES = 64 * 1_024 * 1_024
const REPORTED_CHARACTERS = 2_000

export const say = linesTo(process.stderr)

/** Ends the step under way. */
export const interruption = new AbortController()

/** The folder and the commit that a release is made from. */
export interface Source {
  /** The commit's files, installed and built. */
  tree: string
  version: string
  commit: string
  /** Seconds since 1970. */
  time_s: number
}

/**
 * Runs a program to its end, without a shell, and returns what it printed. Says that it runs if it takes long.
 * @throws Failure with the end of its standard error if it fails or takes 30 minutes.
 */
export async function step(cwd: string, command: string, ...args: string[]): Promise<string> {
  // NODE_ENV would change what npm installs and Vite builds.
  const env = { ...process.env, NODE_ENV: undefined, LC_ALL: 'C', TZ: 'UTC' }
  const limits = { timeout: STEP_DEADLINE_MS, maxBuffer: OUTPUT_MAX_BYTES }
  const { signal } = interruption
  signal.throwIfAborted()
  const running = promisify(execFile)(command, args, { cwd, env, ...limits })
  // Not execFile's own `signal`, which rejects while the program may still write into the folder.
  signal.addEventListener('abort', () => running.child.kill(), { once: true })
  try {
    const { stdout } = await heartbeat(say, () => `  ${basename(command)} ${args[0]}`, running)
    return stdout.trim()
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    const why = (stderr?.trim() || message).slice(-REPORTED_CHARACTERS)
    throw new Failure(`"${command} ${args[0]}" failed: ${why}`, { cause: error })
  }
}

/** Returns the SHA-256 of a file in hexadecimal. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest('hex')
}
