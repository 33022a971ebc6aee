import knex, { type Knex } from 'knex'

export type Check = [what: string, holds: boolean]

export const openDatabase = (url: string): Knex =>
  knex({ client: 'pg', connection: url, pool: { min: 0, max: 2 } })
