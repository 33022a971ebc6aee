import assert from 'node:assert/strict'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'
import { listPurges } from '../../apps/api/purges.ts'
import { REVOKED_TOKEN_PURGE } from '../../apps/api/revocation/start-reconciling.ts'
import { sharedDatabase } from '../support/database.ts'
import { silentLog } from '../support/log.ts'
import { listTables } from '../support/read-stores.ts'
import { retentionRows } from '../support/retention.ts'

const UNITS_MS = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000, year: 365 * 86_400_000 }

/** The first time that a text names, or 0. */
function saidMs(text: string): number {
  const [, count = '', unit] = /\b(an?|\d+) (second|minute|hour|day|year)s?\b/.exec(text) ?? []
  return (Number(count) || 1) * (UNITS_MS[unit as keyof typeof UNITS_MS] ?? 0)
}

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
    const purges = [...listPurges(events, silentLog()), REVOKED_TOKEN_PURGE]
    const kept_ms = new Map(purges.map((purge) => [purge.kind, purge.kept_ms]))
    for (const { name, keptFor } of retentionRows.filter(({ name }) => !name.includes(':'))) {
      assert.doesNotMatch(keptFor, kept_ms.has(name) ? /^permanently/ : /\d|hour|DAYS/, name)
      // Where rows are of days, the last of them ends a day later.
      const more_ms = (kept_ms.get(name) || saidMs(keptFor)) - saidMs(keptFor)
      assert.ok(!saidMs(keptFor) || (more_ms >= 0 && more_ms <= UNITS_MS.day), name)
    }
  })

  it('says of each Redis key for how long it is kept', () => {
    const { revocationEntry_ms: revoked_ms, refusals_ms, ...lifetimes } = redisLifetimes
    const named = {
      ...lifetimes,
      revoked_ms,
      refusal_ms: refusals_ms,
      refusalCounts_ms: refusals_ms,
      refusals_ms,
    }
    for (const [key, lifetime_ms] of Object.entries(named)) {
      const make = redisKeys[key.replace('_ms', '') as keyof typeof redisKeys] as unknown
      const pattern = typeof make === 'function' ? make(...Array(make.length).fill('*')) : make
      assert.equal(
        saidMs(retentionRows.find(({ name }) => name === pattern)?.keptFor ?? ''),
        lifetime_ms,
        key,
      )
    }
  })
})
