import type { Database } from '#shared/stores/postgres.ts'

export interface PreparedQuery {
  /** The statement is planned once per connection under this name, unless behind a pooler. */
  name: string
  /** With `$1` for the first value. */
  text: string
  values: readonly unknown[]
}

/**
 * Runs a named prepared statement on a connection of the pool, without knex's query builder, which would cost
 * more than the query itself.
 * Returns the rows, each an array of its columns.
 */
export async function queryPrepared<Row extends unknown[]>(
  db: Database,
  { name, text, values }: PreparedQuery,
): Promise<Row[]> {
  const connection = await db.client.acquireConnection()
  try {
    const options = db.userParams.pooled ? {} : { name }
    const answer = Promise.withResolvers<Row[]>()
    // Not by pg's own promise: V8 puts the function that resolves it among its old objects right away, so
    // each query and its rows would stay in memory until the next full collection.
    const onAnswer = (error: Error | null, result: { rows: Row[] }) =>
      error ? answer.reject(error) : answer.resolve(result.rows)
    connection.query({ ...options, text, values, rowMode: 'array' }, onAnswer)
    return await answer.promise
  } finally {
    db.client.releaseConnection(connection)
  }
}
