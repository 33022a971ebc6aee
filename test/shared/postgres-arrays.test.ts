import assert from 'node:assert/strict'
import fc from 'fast-check'
import { dateArray, float8Array, int8Array, textArray } from '#shared/analytics/postgres-arrays.ts'
import { createPostgres, type Database, queryPrepared } from '#shared/stores/postgres.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers.ts'

const DAY_MS = 86_400_000

describe('arrays in the binary format', () => {
  let database: TestDatabase
  let db: Database

  before(async () => {
    database = await createTestDatabase()
    db = createPostgres({ url: database.apiUrl, poolSize: 1, applicationName: 'postgres-arrays-test' })
  })
  after(async () => {
    await db.destroy()
    await database.drop()
  })

  /** The values as Postgres has understood them. */
  async function understood(type: string, array: Buffer): Promise<(string | null)[]> {
    const text = `select value::text from unnest($1::${type}[]) with ordinality as a (value, n) order by n`
    const rows = await queryPrepared<[string | null]>(db, { name: `arrays_${type}`, text, values: [array] })
    return rows.map(([value]) => value)
  }

  const wellFormed = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0'))
  const whole = fc.oneof(fc.maxSafeNat(), fc.nat(), fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1))
  const date = fc
    .integer({ min: 0, max: Date.UTC(9999, 11, 31) / DAY_MS })
    .map((day) => new Date(day * DAY_MS).toISOString().slice(0, 10))

  it('hold texts of any script, byte by byte', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(wellFormed), async (texts) => {
        assert.deepEqual(await understood('text', textArray(texts)), texts)
      }),
    )
  })

  it('hold whole numbers to 2^53 - 1, and null', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(whole)), async (numbers) => {
        const expected = numbers.map((value) => (value === null ? null : String(value)))
        assert.deepEqual(await understood('int8', int8Array(numbers)), expected)
      }),
    )
  })

  it('hold fractions exactly', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.double({ noNaN: true })), async (numbers) => {
        const found = await understood('float8', float8Array(numbers))
        assert.deepEqual(found.map(Number), numbers)
      }),
    )
  })

  it('hold dates', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(date), async (dates) => {
        assert.deepEqual(await understood('date', dateArray(dates)), dates)
      }),
    )
  })

  it('are not made of what would be stored as something else', () => {
    for (const number of [Number.NaN, 1.5, -1, 2 ** 53])
      assert.throws(() => int8Array([1, number]), RangeError)
    for (const text of ['', '2026-13-01', '2026-11-21T12:00Z'])
      assert.throws(() => dateArray(['2026-11-21', text]), RangeError)
  })
})
