import type { Command } from 'commander'
import { REDIS_USER_RULES } from '../database/redis-users.ts'
import { command, type Print } from './commands.ts'

/** The access rules of the services' Redis users, and of one that only verifies tokens, as lines of an ACL file or of redis.conf. */
export function addRedisUsersCommand(program: Command, print: Print): void {
  command(
    program,
    'redis-users',
    'Print the access rules of the Redis users, as lines of an ACL file or of redis.conf. Replace each PASSWORD_… with the SHA-256 of a password, in hex.',
    'redis-users',
  ).action(() =>
    print(async () => {
      const lines = Object.entries(REDIS_USER_RULES).map(
        ([user, rules]) => `user ${user} on #PASSWORD_${user.toUpperCase()} ${rules}`,
      )
      return { text: lines.join('\n'), data: REDIS_USER_RULES }
    }),
  )
}
