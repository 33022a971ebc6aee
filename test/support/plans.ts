import knex, { type Knex } from 'knex'
import { createTestDatabase } from './servers.ts'

export interface Plan {
  'Node Type': string
  'Index Name'?: string
  'Index Cond'?: string
  'Relation Name'?: string
  'Conflict Arbiter Indexes'?: string[]
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** A database with one connection, and Postgres's own report of the plans of its statements. */
export async function explainedDatabase() {
  const database = await createTestDatabase()
  let plans: Plan[] = []
  const db: Knex = knex({
    client: 'pg',
    connection: database.ownerUrl,
    pool: {
      min: 1,
      max: 1,
      afterCreate(
        connection: { on(event: string, listener: (notice: { message: string }) => void): void },
        done: () => void,
      ) {
        connection.on('notice', ({ message }) => {
          const json = /^duration: [^{]*plan:\n(.*)$/s.exec(message)?.[1]
          if (json) plans.push(JSON.parse(json).Plan)
        })
        done()
      },
    },
  })
  return {
    db,
    async explain(): Promise<void> {
      await db.raw(`
        load 'auto_explain';
        set auto_explain.log_min_duration = 0;
        set auto_explain.log_analyze = on;
        set auto_explain.log_nested_statements = on;
        set auto_explain.log_format = 'json';
        set auto_explain.log_level = notice`)
    },
    async plansOf(work: () => Promise<unknown>): Promise<Plan[]> {
      plans = []
      await work()
      return plans.flatMap(nodes)
    },
    async [Symbol.asyncDispose]() {
      await db.destroy()
      await database.drop()
    },
  }
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)]
