import { isDeepStrictEqual } from 'node:util'
import { Option } from 'commander'
import { EXIT_CONFIG } from '#shared/process/config.ts'
import { MIGRATE_SHAPE } from '../database/migrate-settings.ts'
import { REDIS_USER_RULES, SENTINEL_USER_RULES } from '../database/redis-users.ts'
import { LOCAL_SHAPE } from '../local-settings.ts'
import type { CommandGroup, LocalCommand, Outcome } from './commands.ts'
import { OPERATOR_SHAPE } from './operator.ts'
import { listSettings, type SettingReference } from './setting-reference.ts'

export const CONFIG: CommandGroup = {
  name: 'config',
  description: 'Settings of all programs',
  commands: [
    {
      name: 'reference',
      description: 'Print every setting as Markdown: name, default, unit, and the program that reads it',
      example: 'config reference',
      runAlone: reference,
    },
  ],
}

export const REDIS_USERS: LocalCommand = {
  name: 'redis-users',
  description:
    'Print the access rules of the Redis users, as lines of an ACL file or of redis.conf. Replace each ' +
    'PASSWORD_… with the SHA-256 of a password, in hex.',
  example: 'redis-users --sentinel',
  options: [new Option('--sentinel', 'also print the users that a replica and the Sentinels log in with')],
  async runAlone(_, { sentinel }: { sentinel?: true }) {
    const data = { ...REDIS_USER_RULES, ...(sentinel && SENTINEL_USER_RULES) }
    const lines = Object.entries(data).map(
      ([user, rules]) => `user ${user} on #PASSWORD_${user.toUpperCase()} ${rules}`,
    )
    return { text: lines.join('\n'), data }
  },
}

async function reference(): Promise<Outcome> {
  // Imported only here: the image of this command has no authorization server.
  const { authShape } = await import('../../apps/auth/config.ts')
  const { apiShape } = await import('../../apps/api/config.ts')
  const [auth, api] = [listSettings(authShape), listSettings(apiShape)]
  // PORT and DATABASE_POOL_SIZE have a different default in each service.
  const isCommon = (setting: SettingReference): boolean =>
    [auth, api].every((settings) => settings.some((other) => isDeepStrictEqual(other, setting)))
  const chapters: [title: string, settings: SettingReference[]][] = [
    ['Both services', auth.filter(isCommon)],
    ['The authorization server', auth.filter((setting) => !isCommon(setting))],
    ['The resource API', api.filter((setting) => !isCommon(setting))],
    ['The migration (`npm run migrate`)', listSettings(MIGRATE_SHAPE)],
    ['The admin command (`npm run admin`)', listSettings(OPERATOR_SHAPE)],
    ['The local stack (`npm start`)', listSettings(LOCAL_SHAPE)],
  ]
  return { text: [PREFACE, ...chapters.map(chapter)].join('\n'), data: Object.fromEntries(chapters) }
}

const PREFACE = `# Settings

Every setting is an environment variable. \
A program with invalid settings lists all of them and exits with code ${EXIT_CONFIG}. \
So does a service with a variable that begins like its settings but is none, \
such as an unknown \`RATE_…\` or \`OPENID_…\`.

A setting marked with * is a secret. Instead, \`<NAME>_FILE\` may name a file that contains it; \
for any other setting, it is refused. \
A rate is \`limit/seconds\`, counted in fixed windows of so many seconds. \
\`infra/node apps/auth/main.ts --check\` (or \`apps/api/main.ts\`) \
checks an environment without starting anything.

\`npm run admin -- config reference\` generates this page from the code that reads the settings.
`

function chapter([title, settings]: [string, SettingReference[]]): string {
  const rows = settings.map(({ name, fallback, unit, description, secret }) => {
    const value = /^[\w./]+$/.test(fallback) && !WORDS.has(fallback) ? `\`${fallback}\`` : fallback
    return `| \`${name}\`${secret ? ' *' : ''} | ${value}${unit && ` ${unit}`} | ${description} |`
  })
  return [`## ${title}\n`, '| variable | default | what it is |', '|---|---|---|', ...rows, ''].join('\n')
}

const WORDS = new Set(['required', 'none', 'generated'])
