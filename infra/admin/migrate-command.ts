import { ConfigError, readConfig } from '#shared/process/config.ts'
import { BusyDatabase, migrate, NoCluster, OtherVersion } from '../database/migrate.ts'
import { MIGRATE_SHAPE } from '../database/migrate-settings.ts'
import { EXIT_USAGE } from '../exit-codes.ts'
import { explainInterruption } from '../interruption.ts'
import { outliveOutput } from '../lost-output.ts'
import { heartbeat, linesTo } from '../progress.ts'
import { OperatorError, ownerDatabaseUrl } from './operator.ts'

/*
 * Run this as the owner of the tables, before new versions of the services start. Each role gets its password
 * from the environment and may then log in. Without one, the role stays unchanged.
 */
if (process.argv.length > 2) {
  process.stderr.write(
    'npm run migrate takes no arguments, only environment variables (infra/SETTINGS.md). Nothing was changed.\n',
  )
  process.exit(EXIT_USAGE)
}
outliveOutput()
const print = linesTo(process.stdout)
const show = linesTo(process.stderr)
let step = 'Waiting for the database, or for another run of this command to end'
try {
  using _ = explainInterruption(
    'Each migration is done whole or not at all. Run the command again for the rest.',
  )
  const settings = readConfig(process.env, MIGRATE_SHAPE)
  const migrating = migrate({
    ownerUrl: await ownerDatabaseUrl(process.env),
    onBlocked: () => show('Waiting for transactions that use a table to be changed…'),
    onBegin: (name) => {
      step = `Running ${name}`
    },
    onCommit: (name) => {
      print(`Ran ${name}.`)
      step = 'Setting the rights and passwords of the roles'
    },
    distribute: settings.DISTRIBUTE,
    passwords: {
      integration_auth: settings.INTEGRATION_AUTH_PASSWORD,
      integration_api: settings.INTEGRATION_API_PASSWORD,
      integration_operator: settings.INTEGRATION_OPERATOR_PASSWORD,
    },
  })
  await heartbeat(show, () => step, migrating)
  print('The database is up to date.')
} catch (error) {
  const isExplained = [OperatorError, ConfigError, OtherVersion, BusyDatabase, NoCluster].some(
    (type) => error instanceof type,
  )
  const { message } = error as Error
  process.stderr.write(
    `${isExplained ? message : `The migration failed: ${message || 'the database does not answer'}`}\n`,
  )
  process.exitCode = error instanceof ConfigError ? 78 : 1
}
