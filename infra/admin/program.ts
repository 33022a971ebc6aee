import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { ConfigError, EXIT_CONFIG } from '#shared/process/config.ts'
import { VERSION } from '#shared/process/version.ts'
import { readDatabaseState } from '../../apps/api/revocation/database-state.ts'
import { errorMessage } from '../database/error-messages.ts'
import { EXIT_USAGE } from '../exit-codes.ts'
import { explainInterruption } from '../interruption.ts'
import { heartbeat, linesTo } from '../progress.ts'
import { ANALYTICS } from './analytics.ts'
import { AUDIT } from './audit.ts'
import { CLIENTS } from './clients.ts'
import {
  type AdminCommand,
  addGroup,
  bind,
  type CommandArguments,
  type CommandEnvironment,
  type CommandGroup,
  type OperatorCommand,
  type Outcome,
} from './commands.ts'
import { COMPANIES } from './companies.ts'
import { CONFIG, REDIS_USERS } from './config.ts'
import { KEYS } from './keys.ts'
import { MAIL } from './mail.ts'
import { MEMBERS } from './members.ts'
import { OperatorError, openOperatorAccess, operatorStores } from './operator.ts'
import { PASSWORDS } from './passwords.ts'
import { PERSONS } from './persons.ts'
import { RESTORE } from './restore.ts'
import { SERVICES } from './services.ts'
import { confirm } from './terminal.ts'
import { createTrail } from './trail.ts'

const EXIT_REFUSED = 1

const SUBJECTS: readonly CommandGroup[] = [
  COMPANIES,
  MEMBERS,
  PASSWORDS,
  PERSONS,
  CLIENTS,
  KEYS,
  SERVICES,
  ANALYTICS,
  MAIL,
  RESTORE,
  AUDIT,
  CONFIG,
]

interface GlobalOptions {
  json: boolean
  as?: string
}

/** Runs `npm run admin -- ARGS`. Returns the exit code. Never rejects. */
export async function runAdmin(args: readonly string[], environment: CommandEnvironment): Promise<number> {
  const { stdout, stderr } = environment
  let exitCode = 0

  async function execute(command: AdminCommand, args: CommandArguments): Promise<void> {
    const outcome =
      'runAlone' in command
        ? await command.runAlone(environment, args)
        : await runWithStores(command, args, { environment, as: program.opts<GlobalOptions>().as })
    if (!outcome) return
    stdout.write(asJson() ? `${JSON.stringify(outcome.data, null, 2)}\n` : `${outcome.text}\n`)
    exitCode = outcome.exitCode ?? 0
  }
  const program = createProgram(environment, execute)
  const asJson = (): boolean => program.opts<GlobalOptions>().json

  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
    const sentence = describeError(error)
    stderr.write(asJson() ? `${JSON.stringify({ error: sentence })}\n` : `${sentence}\n`)
    return error instanceof ConfigError ? EXIT_CONFIG : EXIT_REFUSED
  }
}

async function runWithStores(
  command: OperatorCommand,
  args: CommandArguments,
  { environment, as }: { environment: CommandEnvironment; as: string | undefined },
): Promise<Outcome | undefined> {
  const stores = await operatorStores(environment.env)
  const activityLog = createTrail({ auditFile: stores.auditFile, stderr: environment.stderr })
  const operator = openOperatorAccess(stores, { name: as, activityLog })
  const context = { ...environment, ...operator }
  const { progress = 'Working' } = command
  const print = linesTo(environment.stderr)
  // While a password is typed, the terminal is raw, and a line would end up behind the question.
  const show = (line: string) => void (environment.stdin.isRaw || print(line))
  const withProgress = <T>(work: Promise<T>): Promise<T> =>
    progress === null ? work : heartbeat(show, () => progress, work)
  try {
    const { schema } = await heartbeat(show, () => 'Waiting for the database', readDatabaseState(operator.db))
    if (schema === 'newer')
      throw new OperatorError('A newer version migrated this database: run the command of that version.')
    if (schema === 'missing')
      throw new OperatorError('This database was not migrated for this version: run "npm run migrate" first.')
    if (command.effect && args.yes !== true)
      await confirm(await withProgress(command.effect(context, args)), environment)
    using _ = command.ifInterrupted === undefined ? undefined : explainInterruption(command.ifInterrupted)
    return await withProgress(command.run(context, args))
  } finally {
    await operator.close()
  }
}

/** Returns the parser of every command. It calls `execute` with the one that the arguments name. */
export function createProgram(
  { stdout, stderr }: Pick<CommandEnvironment, 'stdout' | 'stderr'>,
  execute: Parameters<typeof bind>[2],
): Command {
  const program = new Command('npm run admin --')
    .description(
      'Command-line administration. Works on the local stack running on DATA_DIR (default .data), or on ' +
        'the installation given by DATABASE_URL (as integration_operator), REDIS_URL and KEY_ENCRYPTION_KEY.',
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
  for (const subject of SUBJECTS) bind(addGroup(program, subject), subject.commands, execute)
  bind(program, [REDIS_USERS], execute)
  return program
}

/** Validates the operator's name for the record of an act. */
function checkedName(name: string): string {
  if (/^[^\p{C}]{1,100}$/u.test(name) && name.trim() !== '') return name
  throw new InvalidArgumentError('It must be 1 to 100 printable characters.')
}

function describeError(error: unknown): string {
  const message = errorMessage(error)
  if (error instanceof OperatorError || error instanceof ConfigError) return message
  return `The command failed: ${message}`
}
