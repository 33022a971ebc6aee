import { createHash, randomBytes } from 'node:crypto'
import { chmod, chown, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { REDIS_USER_RULES } from '../database/redis-users.ts'

/*
 * Writes new secrets for compose.yaml, all but the certificate, into the empty folder that is named. Each is
 * readable only by the user whom its container runs as, so this needs root.
 */
const ROOT = 0
/** In their images, Postgres' user and Redis' have the same id. */
const STORE = 999
const INTEGRATION = 10_001

const password = (): string => randomBytes(24).toString('hex')
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

function secrets(): Record<string, [user: number, text: string]> {
  const owner = password()
  const files: Record<string, [user: number, text: string]> = {
    postgres_password: [STORE, owner],
    owner_database_url: [INTEGRATION, `postgres://postgres:${owner}@postgres/integration`],
    key_encryption_key: [INTEGRATION, randomBytes(32).toString('base64')],
  }
  for (const role of ['auth', 'api', 'operator']) {
    const rolePassword = password()
    files[`${role}_password`] = [INTEGRATION, rolePassword]
    files[`${role}_database_url`] = [
      INTEGRATION,
      `postgres://integration_${role}:${rolePassword}@postgres/integration`,
    ]
  }
  const users = ['user default off']
  for (const [user, rules] of Object.entries(REDIS_USER_RULES)) {
    const userPassword = password()
    files[`${user}_redis_url`] = [INTEGRATION, `redis://${user}:${userPassword}@redis`]
    users.push(`user ${user} on #${sha256(userPassword)} ${rules}`)
  }
  files.redis_acl = [STORE, `${users.join('\n')}\n`]
  return files
}

async function refusal(folder: string): Promise<string | undefined> {
  if (process.getuid?.() !== ROOT) return 'Only root can give each secret to the user of its container.'
  const names = await readdir(folder).catch(() => undefined)
  if (!names) return `There is no folder ${folder}: make it, and mount it into the container.`
  if (names.length > 0)
    return `${folder} is not empty: an installation may use these secrets, so nothing was written.`
  return undefined
}

const folder = process.argv[2] ?? 'secrets'
const reason = await refusal(folder)
if (reason === undefined) {
  await chmod(folder, 0o700)
  for (const [name, [user, text]] of Object.entries(secrets())) {
    const file = join(folder, name)
    await writeFile(file, text, { mode: 0o400, flag: 'wx' })
    await chown(file, user, user)
  }
} else {
  process.stderr.write(`${reason}\n`)
  process.exitCode = 1
}
