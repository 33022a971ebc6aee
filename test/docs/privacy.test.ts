import assert from 'node:assert/strict'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { sharedDatabase } from '../support/database.ts'
import { listTables } from '../support/read-stores.ts'
import { retentionRows } from '../support/retention.ts'

describe('the table of what is kept', () => {
  const database = sharedDatabase()

  it('has a row for each table and each Redis key, and no other', async () => {
    const tables = await listTables(database.owner)
    // `revoked:*` matches others.
    const { revokedAny: _, ...keys } = redisKeys
    const patterns = Object.values(keys).map((key) =>
      typeof key === 'string' ? key : (key as (...parts: string[]) => string)(...Array(key.length).fill('*')),
    )
    assert.deepEqual(retentionRows.map(({ name }) => name).sort(), [...tables, ...patterns].sort())
  })

  it('says of each what it holds and how long', () => {
    for (const { name, holds, keptFor } of retentionRows) assert.ok(holds && keptFor, name)
  })
})
