import assert from 'node:assert/strict'
import type { Knex } from 'knex'
import { asAdmin } from './revocation.ts'
import type { TestRedis } from './servers.ts'

/** One row of Postgres or one key of Redis, with its value. */
export interface StoredThing {
  /** The table, without a partition's suffix, or the key. */
  where: string
  text: string
}

/** Returns everything that both stores hold, as text, to search for what must not be there. */
export async function readStores(db: Knex, redis: TestRedis): Promise<StoredThing[]> {
  const things: StoredThing[] = []
  for (const name of await listTables(db)) {
    const { rows } = await db.raw('select to_jsonb(t)::text as text from ?? t', [name])
    for (const { text } of rows) things.push({ where: name, text })
  }
  await asAdmin(redis, async (client) => {
    for (const key of await client.keys('*')) {
      const type = await client.type(key)
      // It has expired meanwhile.
      if (type === 'none') continue
      const read: Record<string, () => Promise<unknown>> = {
        string: () => client.get(key),
        hash: () => client.hgetall(key),
        zset: () => client.zrange(key, '0', '-1'),
        list: () => client.lrange(key, 0, -1),
      }
      assert.ok(read[type], `${key} is a ${type}`)
      things.push({ where: key, text: `${key} ${JSON.stringify(await read[type]())}` })
    }
  })
  return things
}

/** Returns the names of the tables, a partitioned one once. */
export async function listTables(db: Knex): Promise<string[]> {
  const { rows } = await db.raw(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and not relispartition order by 1`,
  )
  return rows.map(({ name }: { name: string }) => name)
}

/** Returns the tables and keys that hold the text in any case, each table once. */
export const placesHolding = (things: readonly StoredThing[], text: string): string[] => [
  ...new Set(
    things.filter((thing) => thing.text.toLowerCase().includes(text.toLowerCase())).map(({ where }) => where),
  ),
]
