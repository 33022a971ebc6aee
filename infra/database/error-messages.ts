import type { Knex } from 'knex'

/** Returns an error's message. An AggregateError of several addresses has none of its own, only theirs. */
export function errorMessage(error: unknown): string {
  const { message, errors = [] } = error as Partial<AggregateError>
  return message || errors.map((cause: Error) => cause.message).join(', ')
}

/**
 * Makes errors of the database say the reason alone. knex puts the statement before it, which can be a whole
 * migration, and can have a password or what is imported in it.
 */
export function reportReasonsAlone(db: Knex): void {
  db.client.config.compileSqlOnError = false
  db.on('query-error', (error: Error, { sql }: { sql: string }) => {
    if (error.message.startsWith(`${sql} - `)) error.message = error.message.slice(`${sql} - `.length)
  })
}
