import assert from 'node:assert/strict'
import knex from 'knex'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { tablesOf } from '../support/everything.ts'
import { keptRows } from '../support/kept.ts'
import { createTestDatabase } from '../support/servers.ts'

describe('the table of what is kept', () => {
  it('has a row for each table and each Redis key, and no other', async () => {
    const database = await createTestDatabase()
    const db = knex({ client: 'pg', connection: database.ownerUrl, pool: { min: 0, max: 1 } })
    const tables = await tablesOf(db).finally(() => db.destroy())
    await database.drop()
    // `revoked:*` matches others.
    const { revokedAny: _, ...keys } = redisKeys
    const patterns = Object.values(keys).map((key) =>
      typeof key === 'string' ? key : (key as (...parts: string[]) => string)(...Array(key.length).fill('*')),
    )
    assert.deepEqual(keptRows.map(({ name }) => name).sort(), [...tables, ...patterns].sort())
  })

  it('says of each what it holds and how long', () => {
    for (const { name, holds, keptFor } of keptRows) assert.ok(holds && keptFor, name)
  })
})
