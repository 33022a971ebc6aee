import type { Knex } from 'knex'

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
