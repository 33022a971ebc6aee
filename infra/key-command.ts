import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { z } from 'zod'
import { ConfigError, type Env, keyEncryptionKey, readConfig } from '#shared/process/config.ts'

const DEADLINE_MS = 10_000
const OUTPUT_MAX_BYTES = 64 * 1_024
const COMPLAINT_MAX_CHARACTERS = 500

/** The setting that stands in for KEY_ENCRYPTION_KEY, read by `withKey` alone. */
export const KEY_COMMAND_SHAPE = {
  KEY_ENCRYPTION_KEY_COMMAND: z
    .string()
    // There is no shell. What only a shell understands would reach the program as it is written.
    .regex(
      /^[^\s"'`$\\|&;<>()*?~]+( +[^\s"'`$\\|&;<>()*?~]+)*$/,
      'must be a program and its arguments, separated by spaces, without quotes or anything else that needs a shell; put those in a script',
    )
    .optional()
    .meta({
      fallback: 'none',
      description:
        'a program with its arguments that prints `KEY_ENCRYPTION_KEY`, in place of that setting; run at start, without a shell, for at most 10 seconds',
    }),
}

/** The command failed, perhaps only this time. `message` is a sentence that does not contain its output. */
export class KeyCommandError extends Error {}

/**
 * Returns the environment with what KEY_ENCRYPTION_KEY_COMMAND prints as KEY_ENCRYPTION_KEY, and without the command.
 * Returns it unchanged if there is no command.
 * @throws ConfigError if the key is set as well, the command is not usable or its output is no key; KeyCommandError if it
 * fails or takes more than 10 seconds.
 */
export async function withKey(env: Env, { deadline_ms = DEADLINE_MS } = {}): Promise<Env> {
  const { KEY_ENCRYPTION_KEY_COMMAND: command } = readConfig(env, KEY_COMMAND_SHAPE)
  if (command === undefined) return env
  if (env.KEY_ENCRYPTION_KEY || env.KEY_ENCRYPTION_KEY_FILE)
    throw new ConfigError('KEY_ENCRYPTION_KEY: is set twice, directly and by KEY_ENCRYPTION_KEY_COMMAND')
  const key = (await outputOf(command, { env, deadline_ms })).trim()
  const { error } = keyEncryptionKey.safeParse(key)
  if (error) throw new ConfigError(`KEY_ENCRYPTION_KEY_COMMAND: what it prints ${error.issues[0]?.message}`)
  return { ...env, KEY_ENCRYPTION_KEY: key, KEY_ENCRYPTION_KEY_COMMAND: undefined }
}

async function outputOf(
  command: string,
  { env, deadline_ms }: { env: Env; deadline_ms: number },
): Promise<string> {
  const [program = '', ...args] = command.split(/ +/)
  const limits = { timeout: deadline_ms, killSignal: 'SIGKILL', maxBuffer: OUTPUT_MAX_BYTES } as const
  const running = promisify(execFile)(program, args, { ...limits, env: env as NodeJS.ProcessEnv })
  // It has nothing to read, and must not wait for anything.
  running.child.stdin?.on('error', () => {}).end()
  try {
    return (await running).stdout
  } catch (error) {
    throw failureOf(error as Failed, deadline_ms)
  }
}

interface Failed {
  code?: unknown
  killed?: boolean
  signal?: string | null
  stderr?: string
}

/** Never from the error's own message, which holds what the command printed on standard error and its arguments. */
function failureOf({ code, killed, signal, stderr = '' }: Failed, deadline_ms: number): Error {
  const name = 'KEY_ENCRYPTION_KEY_COMMAND:'
  if (code === 'ENOENT' || code === 'EACCES') return new ConfigError(`${name} cannot be run (${code})`)
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
    return new ConfigError(`${name} prints more than ${OUTPUT_MAX_BYTES} bytes`)
  const why = killed
    ? `did not end within ${deadline_ms / 1_000} seconds`
    : signal
      ? `was ended by ${signal}`
      : `failed with code ${code}`
  const complaint = withoutKeys(stderr)
    .replaceAll(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, COMPLAINT_MAX_CHARACTERS)
  return new KeyCommandError(`${name} ${why}${complaint && `: ${complaint}`}`)
}

/** A script that traces itself (`sh -x`) prints the key on standard error. */
const withoutKeys = (text: string): string => text.replaceAll(/[A-Za-z0-9+/]{43}=/g, '[hidden]')
