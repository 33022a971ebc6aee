import type pg from 'pg'

/**
 * One COPY of lines in Postgres's text format, through pg's own protocol: the methods are those that pg.Client asks
 * of a query that it did not make itself.
 */
export function copyIn(client: pg.Client, table: string, lines: Buffer[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let failed: Error | undefined
    const copy = {
      submit: (connection: pg.Connection) => connection.query(`copy ${table} from stdin`),
      handleCopyInResponse(connection: CopyConnection) {
        for (const some of lines) connection.sendCopyFromChunk(some)
        connection.endCopyFrom()
      },
      handleCommandComplete() {},
      handleError(error: Error) {
        failed = error
      },
      handleReadyForQuery: () => (failed ? reject(failed) : resolve()),
    }
    client.query(copy as pg.Submittable)
  })
}

/** What @types/pg leaves out. */
interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}
