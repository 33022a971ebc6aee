import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import { Argument, type Command } from 'commander'
import { commonShape, readConfig, storesWithoutTls } from '#shared/process/config.ts'
import { type SettingReference, settingsOf } from '#shared/process/setting-reference.ts'
import { MIGRATE_SHAPE } from '../database/migrate-settings.ts'
import { LOCAL_SHAPE } from '../local/settings.ts'
import { command, group, type Outcome, type Print } from './commands.ts'
import { OPERATOR_SHAPE } from './operator.ts'

const run = promisify(execFile)
const EXIT_CONFIG = 78
const ROOT = join(import.meta.dirname, '../..')

type ServiceName = 'auth' | 'api'

/** Lists all settings, and checks those of a service. */
export function addConfigCommands(program: Command, print: Print, env: NodeJS.ProcessEnv): void {
  const config = group(program, 'config', 'Settings of all programs')
  command(
    config,
    'reference',
    'Print every setting as Markdown: name, default, unit, and the program that reads it',
    'config reference',
  ).action(() => print(reference))
  command(
    config,
    'check',
    'Check the settings of a service in this environment, without starting it. Exits with code 78 if a setting is invalid, missing or unknown.',
    'config check auth',
  )
    .addArgument(new Argument('<service>', 'the service to check').choices(['auth', 'api']))
    .action((service: ServiceName) =>
      print(async () => {
        const { text, exitCode } = await check(service, env)
        return { text, data: { service, usable: exitCode === 0, text }, exitCode }
      }),
    )
}

/** Asks the service itself, and adds what it would only log. */
async function check(
  service: ServiceName,
  env: NodeJS.ProcessEnv,
): Promise<{ text: string; exitCode: number }> {
  try {
    await node(['main.ts', '--check'], { service, env })
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr: string }
    if (code !== EXIT_CONFIG) throw new Error(stderr)
    return { text: stderr.trim(), exitCode: EXIT_CONFIG }
  }
  const { DATABASE_URL, REDIS_URL, REVOCATION_REDIS_URL } = commonShape
  const stores = readConfig(env, { DATABASE_URL, REDIS_URL, REVOCATION_REDIS_URL })
  const plain = storesWithoutTls(stores).map((name) => `  ${name}: leads to another machine without TLS`)
  return { text: ['The settings are usable.', ...plain].join('\n'), exitCode: 0 }
}

/** Runs a program of a service, so that this one need not load the service's code. */
const node = (
  [program = '', ...args]: string[],
  { service, env = {} }: { service: ServiceName; env?: NodeJS.ProcessEnv },
) => run(process.execPath, [join(ROOT, 'apps', service, program), ...args], { env })

async function settingsOfService(service: ServiceName): Promise<SettingReference[]> {
  return JSON.parse((await node(['settings.ts'], { service })).stdout)
}

async function reference(): Promise<Outcome> {
  const [ofAuth, ofApi] = await Promise.all([settingsOfService('auth'), settingsOfService('api')])
  // PORT and DATABASE_POOL_SIZE have a different default in each service.
  const isCommon = (setting: SettingReference): boolean =>
    [ofAuth, ofApi].every((settings) => settings.some((other) => isDeepStrictEqual(other, setting)))
  const sections: [title: string, settings: SettingReference[]][] = [
    ['Both services', ofAuth.filter(isCommon)],
    ['The authorization server', ofAuth.filter((setting) => !isCommon(setting))],
    ['The resource API', ofApi.filter((setting) => !isCommon(setting))],
    ['The migration (`npm run migrate`)', settingsOf(MIGRATE_SHAPE)],
    ['The admin command (`npm run admin`)', settingsOf(OPERATOR_SHAPE)],
    ['The local stack (`npm start`)', settingsOf(LOCAL_SHAPE)],
  ]
  return { text: [PREFACE, ...sections.map(section)].join('\n'), data: Object.fromEntries(sections) }
}

const PREFACE = `# Settings

Every setting is an environment variable. A program with invalid settings lists all of them and exits with code 78. So does a service with a variable that begins like its settings but is none, such as an unknown \`RATE_…\` or \`OPENID_…\`.

A setting marked with * is a secret. Instead, \`<NAME>_FILE\` may name a file that contains it. Rates are \`limit/seconds\`. \`npm run admin -- config check auth\` (or \`api\`) checks an environment without starting anything.

\`npm run admin -- config reference\` generates this page from the code that reads the settings.
`

function section([title, settings]: [string, SettingReference[]]): string {
  const rows = settings.map(({ name, fallback, unit, description, secret }) => {
    const shown = /^[\w./]+$/.test(fallback) && !WORDS.has(fallback) ? `\`${fallback}\`` : fallback
    return `| \`${name}\`${secret ? ' *' : ''} | ${shown}${unit && ` ${unit}`} | ${description} |`
  })
  return [`## ${title}\n`, '| variable | default | what it is |', '|---|---|---|', ...rows, ''].join('\n')
}

const WORDS = new Set(['required', 'none'])
