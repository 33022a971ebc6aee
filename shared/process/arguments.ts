import type { z } from 'zod'
import { ConfigError, type Env, settingsOf } from './config.ts'
import { unknownSentence, unknownSettings } from './setting-names.ts'
import { VERSION } from './version.ts'

/** EX_USAGE and EX_CONFIG of sysexits.h. */
const EXIT_USAGE = 64
const EXIT_CONFIG = 78

export interface Answered {
  text: string
  exitCode: number
}

const USAGE = `Runs the service with the settings of its environment. Instead of that:
  --version    prints the version
  --check      checks the settings; ends with code 78 if one is wrong, missing or unknown
  --settings   prints what can be set, as JSON`

/**
 * What a service's program answers when its arguments ask about it.
 * @returns undefined without arguments: the program should then run.
 */
export function answerArguments(
  args: readonly string[],
  { env, shape, read }: { env: Env; shape: z.ZodRawShape; read: (env: Env) => unknown },
): Answered | undefined {
  const [argument, ...more] = args
  if (argument === undefined) return undefined
  if (more.length > 0) return { text: USAGE, exitCode: EXIT_USAGE }
  if (argument === '--version') return { text: VERSION, exitCode: 0 }
  if (argument === '--settings') return { text: JSON.stringify(settingsOf(shape), null, 2), exitCode: 0 }
  if (argument === '--check') return check(env, read)
  return { text: USAGE, exitCode: argument === '--help' ? 0 : EXIT_USAGE }
}

function check(env: Env, read: (env: Env) => unknown): Answered {
  const problems = unknownSettings(env).map((unknown) => `  ${unknownSentence(unknown)}`)
  try {
    read(env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { text: [error.message, ...problems].join('\n'), exitCode: EXIT_CONFIG }
  }
  return problems.length === 0
    ? { text: 'The settings are usable.', exitCode: 0 }
    : { text: ['The configuration is invalid:', ...problems].join('\n'), exitCode: EXIT_CONFIG }
}
