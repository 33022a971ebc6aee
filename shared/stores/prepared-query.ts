import type { Database } from './postgres.ts'

export interface PreparedQuery {
  /** The statement is planned once per connection under this name, unless behind a pooler. */
  name: string
  /** With `$1` for the first value. */
  text: string
  values: readonly unknown[]
}

/**
 * Runs a named prepared statement on a connection of the pool, without knex's query builder, which would cost more
 * than the query itself.
 * @returns the rows, each an array of its columns.
 */
export async function queryPrepared<Row extends unknown[]>(
  db: Database,
  { name, text, values }: PreparedQuery,
): Promise<Row[]> {
  const connection = await db.client.acquireConnection()
  try {
    const named = db.userParams.pooled ? {} : { name }
    const { rows } = await connection.query({ ...named, text, values, rowMode: 'array' })
    return rows
  } finally {
    db.client.releaseConnection(connection)
  }
}
