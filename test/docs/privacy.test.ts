import assert from 'node:assert/strict'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { listPurges } from '../../apps/api/purges.ts'
import { REVOKED_TOKEN_PURGE } from '../../apps/api/revocation/start-reconciling.ts'
import { sharedDatabase } from '../support/database.ts'
import { silentLog } from '../support/log.ts'
import { listTables } from '../support/read-stores.ts'
import { retentionRows } from '../support/retention.ts'

describe('the table of what is kept', () => {
  const database = sharedDatabase()

  it('says of each table and each Redis key, and of no other, what it holds and how long', async () => {
    const tables = await listTables(database.owner)
    // `revoked:*` matches others.
    const { revokedAny: _, ...keys } = redisKeys
    const patterns = Object.values(keys).map((key) =>
      typeof key === 'string' ? key : (key as (...parts: string[]) => string)(...Array(key.length).fill('*')),
    )
    assert.deepEqual(retentionRows.map(({ name }) => name).sort(), [...tables, ...patterns].sort())
    for (const { name, holds, keptFor } of retentionRows) assert.ok(holds && keptFor, name)
  })

  it('says of each table whose old rows are deleted for how long, and of no other', () => {
    const events = { EVENT_RETENTION_DAYS: 90, EVENT_IDS_REMEMBERED_DAYS: 35 }
    const kinds = [...listPurges(events, silentLog()), REVOKED_TOKEN_PURGE].map(({ kind }) => kind)
    for (const { name, keptFor } of retentionRows.filter(({ name }) => !name.includes(':')))
      assert.doesNotMatch(keptFor, kinds.includes(name) ? /^permanently/ : /\d|hour|DAYS/, name)
  })
})
