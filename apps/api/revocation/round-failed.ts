/** Ends a round that cannot mark the server. The message is for the log. */
export class RoundFailed extends Error {}

/** @throws RoundFailed with the error's code alone, since knex puts the whole statement into its messages. */
export function failRound(error: Error & { code?: string }): never {
  throw new RoundFailed(`Postgres: ${error.code ?? error.name}`, { cause: error })
}
