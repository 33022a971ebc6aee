import { Command, CommanderError } from 'commander'
import { ConfigError } from '#shared/config.ts'
import { createOperator, OperatorError, operatorStores } from '../operator.ts'
import { addAnalyticsCommands } from './analytics-commands.ts'
import { addClientCommands } from './client-commands.ts'
import type { Outcome, Run } from './commands.ts'
import { addKeyCommands } from './key-commands.ts'
import { askNewPassword } from './password.ts'
import { addPeopleCommands } from './people-commands.ts'

const EXIT_REFUSED = 1
const EXIT_USAGE = 2
const EXIT_CONFIG = 78

const program = new Command('npm run admin --')
  .description(
    'What no screen does. Works on the local stack that runs on DATA_DIR (default .data), or on the installation that DATABASE_URL (as the owner of the tables), REDIS_URL and KEY_ENCRYPTION_KEY name.',
  )
  .option('--json', 'print the result as JSON', false)
  .showHelpAfterError('(--help explains)')
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()

const run: Run = async (work) => {
  const operator = createOperator(await operatorStores(process.env))
  try {
    print(await work(operator))
  } finally {
    await operator.close()
  }
}

function print({ text, data }: Outcome): void {
  process.stdout.write(program.opts().json ? `${JSON.stringify(data, null, 2)}\n` : `${text}\n`)
}

/** One sentence, or one JSON object, on standard error. Nothing of a library's error but its message. */
function complain(message: string): void {
  process.stderr.write(program.opts().json ? `${JSON.stringify({ error: message })}\n` : `${message}\n`)
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
  const { message } = error as Error
  if (error instanceof OperatorError) {
    complain(message)
    return EXIT_REFUSED
  }
  if (error instanceof ConfigError) {
    complain(message)
    return EXIT_CONFIG
  }
  complain(`The command failed: ${message || (error as AggregateError).errors?.map(String).join(', ')}`)
  return EXIT_REFUSED
}

const askPassword = (email: string): Promise<string> =>
  askNewPassword(`New password for ${email}`, { input: process.stdin, output: process.stderr })

addPeopleCommands(program, run, askPassword)
addClientCommands(program, run)
addKeyCommands(program, run)
addAnalyticsCommands(program, run)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
}
