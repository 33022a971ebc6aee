import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { ConfigError } from '#shared/process/config.ts'
import { VERSION } from '#shared/process/version.ts'
import { addAnalyticsCommands } from './analytics-commands.ts'
import { addAuditCommands } from './audit-commands.ts'
import { addClientCommands } from './client-commands.ts'
import type { Print, Run } from './commands.ts'
import { addConfigCommands } from './config-commands.ts'
import { addErasureCommands } from './erasure-commands.ts'
import { addKeyCommands } from './key-commands.ts'
import { createOperator, OperatorError, operatorStores } from './operator.ts'
import { askNewPassword } from './password.ts'
import { addPeopleCommands } from './people-commands.ts'
import { addRedisUsersCommand } from './redis-users-command.ts'
import { addRestoreCommands } from './restore-commands.ts'
import { addServiceCommands } from './service-commands.ts'
import { createTrail } from './trail.ts'

const EXIT_REFUSED = 1
const EXIT_USAGE = 64
const EXIT_CONFIG = 78

/** A command's environment and streams, from a process or a test. */
export interface Surroundings {
  env: NodeJS.ProcessEnv
  stdin: NodeJS.ReadStream
  stdout: Pick<NodeJS.WritableStream, 'write'>
  stderr: NodeJS.WritableStream
}

/** Runs `npm run admin -- ARGS`. Returns the exit code. Never rejects. */
export async function runAdmin(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const { env, stdin, stdout, stderr } = surroundings
  let exitCode = 0
  const program = createProgram(surroundings)
  const asJson = (): boolean => program.opts().json

  const print: Print = async (work) => {
    const outcome = await work()
    if (!outcome) return
    const { text, data, exitCode: code = 0 } = outcome
    stdout.write(asJson() ? `${JSON.stringify(data, null, 2)}\n` : `${text}\n`)
    exitCode = code
  }
  const run: Run = async (work) => {
    const stores = await operatorStores(env)
    const activityLog = createTrail({ auditFile: stores.auditFile, stderr })
    const operator = createOperator(stores, { name: program.opts().as, activityLog })
    try {
      await print(() => work(operator))
    } finally {
      await operator.close()
    }
  }
  const askPassword = (email: string): Promise<string> =>
    askNewPassword(`New password for ${email}`, { input: stdin, output: stderr })
  addPeopleCommands(program, run, askPassword)
  addErasureCommands(program, run, { input: stdin, output: stderr })
  addClientCommands(program, run)
  addKeyCommands(program, run)
  addServiceCommands(program, run)
  // npm runs scripts in the project's folder; INIT_CWD is the folder it was called from.
  addAnalyticsCommands(program, run, env.INIT_CWD ?? '.')
  addRestoreCommands(program, run, env.INIT_CWD ?? '.')
  addAuditCommands(program, { run, stdout, callerFolder: env.INIT_CWD ?? '.' })
  addConfigCommands(program, print, env)
  addRedisUsersCommand(program, print)

  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
    const sentence = sentenceOf(error)
    stderr.write(asJson() ? `${JSON.stringify({ error: sentence })}\n` : `${sentence}\n`)
    return error instanceof ConfigError ? EXIT_CONFIG : EXIT_REFUSED
  }
}

function createProgram({ stdout, stderr }: Surroundings): Command {
  return new Command('npm run admin --')
    .description(
      'Command-line administration. Works on the local stack running on DATA_DIR (default .data), or on the installation given by DATABASE_URL (as integration_operator), REDIS_URL and KEY_ENCRYPTION_KEY.',
    )
    .version(VERSION)
    .option('--json', 'print the result as JSON', false)
    .option('--as <name>', 'who you are, for the record (default: your user name)', checkedName)
    .showHelpAfterError('(add --help for usage)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
    })
    .exitOverride()
}

/** Validates the operator's name for the record of an act. */
function checkedName(name: string): string {
  if (/^[^\p{C}]{1,100}$/u.test(name) && name.trim() !== '') return name
  throw new InvalidArgumentError('It must be 1 to 100 printable characters.')
}

/** Returns only the message of a library's error. An AggregateError of several addresses has no message of its own. */
function sentenceOf(error: unknown): string {
  const { message, errors } = error as AggregateError
  if (error instanceof OperatorError || error instanceof ConfigError) return message
  return `The command failed: ${message || (errors ?? []).map((each: Error) => each.message).join(', ')}`
}
