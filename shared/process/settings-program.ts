import { z } from 'zod'
import { ConfigError, type Env, storesWithoutTls } from './config.ts'

/** EX_USAGE and EX_CONFIG of sysexits.h. */
const EXIT_USAGE = 64
const EXIT_CONFIG = 78

const USAGE = `Answers about a service's settings without starting it:
  reference   prints what can be set, as JSON
  check       checks the settings; ends with code 78 if one is wrong or missing`

/** One setting, as the settings reference shows it. */
export interface SettingReference {
  name: string
  description: string
  unit: string
  /** The default as it would be written, or `required`. */
  fallback: string
  /** `<NAME>_FILE` may be used instead. */
  secret: boolean
}

/** The settings of a program, taken from the schemas that parse them. */
export function settingsOf(shape: z.ZodRawShape): SettingReference[] {
  return Object.entries(shape).map(([name, schema]) => {
    const { description = '', unit = '', fallback, secret } = z.globalRegistry.get(schema) ?? {}
    const required = !z.safeParse(schema, undefined).success
    return {
      name,
      description,
      unit: String(unit),
      fallback: required ? 'required' : String(fallback ?? defaultOf(schema) ?? 'none'),
      secret: secret === true,
    }
  })
}

/** The default of the innermost schema that has one: transforms wrap it. */
function defaultOf(schema: z.core.$ZodType): unknown {
  const definition = schema._zod.def as { type: string; in?: z.core.$ZodType; defaultValue?: unknown }
  if (definition.type === 'default')
    return definition.defaultValue === '' ? undefined : definition.defaultValue
  return definition.in && defaultOf(definition.in)
}

/**
 * The program beside a service's `main.ts` that answers about its settings. It prints its answer and sets the exit
 * code: 64 for any other question.
 */
export function runSettingsProgram({
  env,
  question,
  shape,
  read,
}: {
  env: Env
  question: string | undefined
  shape: z.ZodRawShape
  read: (env: Env) => Readonly<Record<string, unknown>>
}): void {
  const { text, exitCode = 0 } =
    question === 'reference'
      ? { text: JSON.stringify(settingsOf(shape), null, 2) }
      : question === 'check'
        ? check(env, read)
        : { text: USAGE, exitCode: EXIT_USAGE }
  process.stdout.write(`${text}\n`)
  process.exitCode = exitCode
}

function check(
  env: Env,
  read: (env: Env) => Readonly<Record<string, unknown>>,
): { text: string; exitCode?: number } {
  try {
    const plain = storesWithoutTls(read(env)).map((name) => `  ${name}: leads to another machine without TLS`)
    return { text: ['The settings are usable.', ...plain].join('\n') }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { text: error.message, exitCode: EXIT_CONFIG }
  }
}
