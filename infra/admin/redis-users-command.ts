import type { Command } from 'commander'
import { REDIS_USER_RULES, SENTINEL_USER_RULES } from '../database/redis-users.ts'
import { command, type Print } from './commands.ts'

/** The access rules of the services' Redis users, and of one that only verifies tokens, as lines of an ACL file or of redis.conf. */
export function addRedisUsersCommand(program: Command, print: Print): void {
  command(
    program,
    'redis-users',
    'Print the access rules of the Redis users, as lines of an ACL file or of redis.conf. Replace each PASSWORD_… with the SHA-256 of a password, in hex.',
    'redis-users --sentinel',
  )
    .option('--sentinel', 'also those as which a replica and the Sentinels log in to the servers')
    .action(({ sentinel }: { sentinel?: true }) =>
      print(async () => {
        const data = { ...REDIS_USER_RULES, ...(sentinel && SENTINEL_USER_RULES) }
        const lines = Object.entries(data).map(
          ([user, rules]) => `user ${user} on #PASSWORD_${user.toUpperCase()} ${rules}`,
        )
        return { text: lines.join('\n'), data }
      }),
    )
}
