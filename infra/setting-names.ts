import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { misspeltSettings } from '#shared/process/misspelt.ts'

const REFERENCE = readFileSync(join(import.meta.dirname, 'SETTINGS.md'), 'utf8')

/**
 * The settings of all programs, from the page that `config reference` generates, to distinguish a misspelling from a
 * setting of another program.
 */
export const SETTING_NAMES: readonly string[] = [
  ...new Set([...REFERENCE.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name = '']) => name)),
]

/** Prefixes that only our settings have. */
const OUR_PREFIX = /^(?:OPENID|RATE)_/

export interface UnknownSetting {
  variable: string
  /** One sentence for a person. */
  sentence: string
}

/**
 * Returns variables that look like settings of this product but are not, by their prefix or a likely typo. They are
 * reported but not refused, because an older version must still start with a newer setting.
 */
export function unknownSettings(env: Record<string, string | undefined>): UnknownSetting[] {
  const misspelt = new Map(misspeltSettings(env, SETTING_NAMES).map((each) => [each.variable, each]))
  return Object.keys(env).flatMap((variable) => {
    const name = variable.replace(/_FILE$/, '')
    const meant = misspelt.get(variable)
    if (meant) return { variable, sentence: meant.sentence }
    if (!OUR_PREFIX.test(name) || SETTING_NAMES.includes(name)) return []
    return { variable, sentence: `${variable}: is not a known setting` }
  })
}

/** Returns the problems of a configuration and, below them, each unknown setting not yet among them. */
export const withUnknown = (problems: string, unknown: readonly UnknownSetting[]): string =>
  [
    problems,
    ...unknown
      .filter(({ variable }) => !problems.includes(`  ${variable}: is not a known setting`))
      .map(({ sentence }) => `  ${sentence}`),
  ].join('\n')
