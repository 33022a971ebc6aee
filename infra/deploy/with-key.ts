import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '#shared/process/config.ts'
import { withKey } from '../key-command.ts'

/*
 * node infra/deploy/with-key.ts PROGRAM ARGS runs a program of ours, in this process, with the KEY_ENCRYPTION_KEY that
 * KEY_ENCRYPTION_KEY_COMMAND prints. So the authorization server, which has no code to start another program, needs none.
 * Its worker processes inherit the key: the command runs once.
 */
const EXIT_CONFIG = 78

const [node = '', , program = '', ...args] = process.argv
try {
  const { KEY_ENCRYPTION_KEY } = await withKey(process.env)
  if (KEY_ENCRYPTION_KEY !== undefined) process.env.KEY_ENCRYPTION_KEY = KEY_ENCRYPTION_KEY
  delete process.env.KEY_ENCRYPTION_KEY_COMMAND
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exit(error instanceof ConfigError ? EXIT_CONFIG : 1)
}
const file = resolve(program)
process.argv = [node, file, ...args]
await import(pathToFileURL(file).href)
