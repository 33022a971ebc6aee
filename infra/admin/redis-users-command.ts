import type { Command } from 'commander'
import { REDIS_USER_RULES, SENTINEL_USER_RULES } from '../database/redis-users.ts'
import { command, type Print } from './commands.ts'

/** Prints the Redis access rules of the services, for an ACL file or redis.conf. */
export function addRedisUsersCommand(program: Command, print: Print): void {
  command(
    program,
    'redis-users',
    'Print the access rules of the Redis users, as lines of an ACL file or of redis.conf. Replace each PASSWORD_… with the SHA-256 of a password, in hex.',
    'redis-users --sentinel',
  )
    .option('--sentinel', 'also print the users that a replica and the Sentinels log in with')
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
