/** A round that cannot go on. Its message is for the log. */
export class Broken extends Error {}

/** knex puts the statement into its messages; only the code belongs in a log, and is enough. */
export function fromPostgres(error: Error & { code?: string }): never {
  throw new Broken(`Postgres: ${error.code ?? error.name}`, { cause: error })
}
