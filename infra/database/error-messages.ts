import type { Knex } from 'knex'

/** Returns an error's message. An AggregateError of several addresses has none of its own, only theirs. */
export function errorMessage(error: unknown): string {
  const { message, errors = [] } = error as Partial<AggregateError>
  return message || errors.map((cause: Error) => cause.message).join(', ')
}

/**
 * Omits the statement from the messages of the database's errors. knex puts it before the reason. It can be a
 * whole migration, and contain a password or imported data.
 */
export function omitStatements(db: Knex): void {
  db.client.config.compileSqlOnError = false
  db.on('query-error', (error: Error, { sql }: { sql: string }) => {
    if (error.message.startsWith(`${sql} - `)) error.message = error.message.slice(`${sql} - `.length)
  })
}
