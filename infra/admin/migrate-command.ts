import { ConfigError, readConfig } from '#shared/process/config.ts'
import { BusyDatabase, migrate, OtherVersion } from '../database/migrate.ts'
import { MIGRATE_SHAPE } from '../database/migrate-settings.ts'
import { OperatorError, ownerDatabaseUrl } from './operator.ts'

/*
 * Run this as the owner of the tables, before new versions of the services start. Each role gets its password from the
 * environment and may then log in. Without one, the role stays unchanged.
 */
try {
  const given = readConfig(process.env, MIGRATE_SHAPE)
  const names = await migrate({
    ownerUrl: await ownerDatabaseUrl(process.env),
    waiting: () => {
      process.stderr.write('Waiting for transactions that use a table to be changed…\n')
    },
    passwords: {
      integration_auth: given.INTEGRATION_AUTH_PASSWORD,
      integration_api: given.INTEGRATION_API_PASSWORD,
      integration_operator: given.INTEGRATION_OPERATOR_PASSWORD,
    },
  })
  const done = names.length > 0 ? `Ran ${names.join(', ')}.` : 'The database is up to date.'
  process.stdout.write(`${done}\n`)
} catch (error) {
  const known = [OperatorError, ConfigError, OtherVersion, BusyDatabase].some((type) => error instanceof type)
  const { message } = error as Error
  process.stderr.write(
    `${known ? message : `The migration failed: ${message || 'the database does not answer'}`}\n`,
  )
  process.exitCode = error instanceof ConfigError ? 78 : 1
}
