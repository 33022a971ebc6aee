import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Database } from '#shared/stores/postgres.ts'
import { type ImportOptions, importEvents } from '../../infra/admin/analytics.ts'
import { readLines } from '../../infra/admin/files.ts'
import { recount, storedDays } from '../support/analytics.ts'
import { createTestClock } from '../support/clock.ts'
import { sharedDatabase } from '../support/database.ts'
import { sharedFolder } from '../support/folder.ts'
import { testOperator } from '../support/operator.ts'
import { EVERYTHING } from '../support/tier.ts'

const MIB = 1_024 * 1_024
const RUNS = EVERYTHING ? 60 : 30
const NOON = '2020-01-01T12:00:00Z'

describe('the lines of a file', () => {
  it('reads lines whole that begin in one chunk and end in the next', async () => {
    const half = 'x'.repeat(30_000)
    async function* chunks() {
      yield Buffer.from(half)
      for (let n = 0; n < 5; n += 1) yield Buffer.from(`${half}\n${half}`)
      yield Buffer.from('\n')
    }
    const lengths: (number | undefined)[] = []
    for await (const lines of readLines(chunks())) lengths.push(...lines.map(({ text }) => text?.length))
    assert.deepEqual(lengths, [60_000, 60_000, 60_000, 60_000, 60_000, 30_000])
  })

  it('reads a line of any length in little memory', async () => {
    const before_bytes = process.memoryUsage().rss
    let peak_bytes = 0
    async function* chunks() {
      for (let n = 0; n < 4_096; n += 1) {
        yield Buffer.alloc(64 * 1_024, 'x')
        peak_bytes = Math.max(peak_bytes, process.memoryUsage().rss)
      }
    }
    const texts: unknown[] = []
    for await (const lines of readLines(chunks())) texts.push(...lines.map(({ text }) => text))
    assert.deepEqual(texts, [undefined])
    assert.ok(peak_bytes - before_bytes < 128 * MIB, `${(peak_bytes - before_bytes) / MIB} MiB`)
  })
})

describe('analytics import', () => {
  const database = sharedDatabase()
  let db: Database
  const folder = sharedFolder()
  let vendorId: string
  const clock = createTestClock()

  before(() => {
    db = database.connect('operator', { poolSize: 2 })
    clock.set('2026-11-20T17:04:00Z')
  })
  beforeEach(async () => {
    vendorId = await database.createCompany()
  })

  /** The refused lines of the last import: `number: reason`. */
  let refusedLines: string[]

  async function importing(content: string | Buffer, options: Partial<ImportOptions> = {}) {
    const file = join(folder, `${vendorId}.ndjson`)
    await writeFile(file, content)
    refusedLines = []
    const onRefused = (line: number, reason: string) => void refusedLines.push(`${line}: ${reason}`)
    return importEvents({ db, clock, vendorId, by: testOperator(), file, onRefused, ...options })
  }
  const ndjson = (...events: unknown[]): string =>
    events.map((event) => `${JSON.stringify(event)}\n`).join('')
  const click = (eventId: string, occurredAt = NOON) => ({ eventId, type: 'click', occurredAt })
  const clicks = (ids: readonly string[], date: string) => ids.map((id) => click(id, `${date}T12:00:00Z`))

  type Counts = Awaited<ReturnType<typeof importEvents>>
  const counts = ({ accepted, duplicates, refused }: Counts) => [accepted, duplicates, refused]

  /** Lets days pass: everything of the company was received that much earlier, and old ids are forgotten. */
  async function daysGoBy(days: number): Promise<void> {
    await database.owner.raw('update analytics_event_ids set received_on = received_on - ?::int', [days])
    await database.owner.raw('update analytics_daily set first_received_on = first_received_on - ?::int', [
      days,
    ])
    await database.owner.raw('select forget_old_analytics_event_ids(35, 1000000)')
  }

  async function assertDaysEqualRecount(): Promise<void> {
    assert.deepEqual(await storedDays(database.owner, vendorId), await recount(database.owner, vendorId))
  }

  it("stores history of any age in the company's days", async () => {
    const order = { ...click('c', '2003-03-29T23:00:00Z'), type: 'order', quantity: 2 }
    const spend = { ...click('d', '1970-01-01T00:00:00Z'), type: 'boost_spend' }
    const result = await importing(
      ndjson(
        { ...click('a', '2003-03-30T01:30:00Z'), type: 'impression', quantity: 500 },
        click('b', '2003-03-29T22:59:59.999Z'),
        { ...order, amountMinor: 1999, currency: 'EUR' },
        { ...spend, amountMinor: 700, currency: 'EUR' },
        click('e, "quoted"', '2026-11-20T17:09:00Z'),
      ),
    )
    assert.deepEqual(result, { lines: 5, accepted: 5, duplicates: 0, refused: 0 })
    const days = await storedDays(database.owner, vendorId)
    assert.deepEqual(
      days.map(({ date }) => date),
      ['1970-01-01', '2003-03-29', '2003-03-30', '2026-11-20'],
    )
    assert.deepEqual(
      [days[2]?.impressions, days[2]?.units_sold, days[2]?.revenue_minor],
      ['500', '2', '1999'],
    )
    await assertDaysEqualRecount()
  })

  it('takes CRLF, a byte order mark, empty lines and no line end at the end', async () => {
    const [a, b] = [click('a'), click('b')].map((event) => JSON.stringify(event))
    assert.deepEqual(counts(await importing(`\uFEFF${a}\r\n\r\n${b}`)), [2, 0, 0])
  })

  it('refuses bad lines alone, each with its number and its reason', async () => {
    const order = { ...click('x'), type: 'order', quantity: 1, amountMinor: 5, currency: 'EUR' }
    const bad: [unknown, RegExp][] = [
      [{ ...click('x'), type: 'view' }, /^2: type must be an event whose type is/],
      [
        click('x', '2026-11-20T17:09:00.001Z'),
        /^3: occurredAt must not lie more than 5 minutes in the future$/,
      ],
      [
        { ...order, quantity: 1.5, amountMinor: -1 },
        /^4: quantity must be a whole .*; amountMinor must be at least 0$/,
      ],
      [{ ...order, currency: 'USD' }, /^5: currency must be EUR/],
      [{ ...click('x'), '\u001b[2J\n': 1 }, /^6: \?\[2J\? is not a known field/],
      [{ ...click('x'), [`y${'y'.repeat(1_000)}`]: 1 }, /^7: y{300}$/],
      [click('x'.repeat(70_000)), /^8: is not UTF-8 or longer than 65536 bytes$/],
    ]
    const text = ndjson(click('good-1'), ...bad.map(([line]) => line), click('good-2'))
    assert.deepEqual(counts(await importing(text)), [2, 0, bad.length])
    bad.forEach(([, expected], index) => {
      assert.match(refusedLines[index] as string, expected)
    })
    assert.equal(refusedLines.length, bad.length)
  })

  it('refuses lines that are not JSON, not UTF-8, or hold a number that is not whole', async () => {
    const good = JSON.stringify(click('a'))
    const content = Buffer.concat([
      Buffer.from(`${good}\n{"eventId":\n`),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from('[]\n'),
      Buffer.from(`${good.replace('"a"', '"b"').slice(0, -1)},"quantity":1.5}\n`),
    ])
    assert.deepEqual(counts(await importing(content)), [1, 0, 4])
    assert.deepEqual(refusedLines.slice(0, 2), [
      '2: is not JSON',
      '3: is not UTF-8 or longer than 65536 bytes',
    ])
  })

  it('stops where a total of a day would pass 2^53 - 1', async () => {
    const max = Number.MAX_SAFE_INTEGER
    const second = { ...click('b'), quantity: max }
    await assert.rejects(importing(ndjson(click('a'), second)), /The import stopped: a total of a day/)
    assert.deepEqual(await storedDays(database.owner, vendorId), [])
  })

  describe('of the same file again', () => {
    const text = ndjson(...clicks(['a', 'b'], '2020-01-01'), ...clicks(['c'], '2020-01-02'))

    it('adds nothing to days with figures once its ids are forgotten, but fills days still missing', async () => {
      await importing(text)
      const days = await storedDays(database.owner, vendorId)
      await daysGoBy(40)
      const longer = ndjson(...clicks(['a', 'b', 'new'], '2020-01-01'), ...clicks(['d', 'e'], '2020-01-03'))
      assert.deepEqual(counts(await importing(longer)), [2, 0, 3])
      assert.match(refusedLines[0] as string, /^1: the day 2020-01-01 has figures/)
      assert.deepEqual((await storedDays(database.owner, vendorId)).slice(0, 2), days)
      assert.equal((await storedDays(database.owner, vendorId))[2]?.clicks, '2')
    })

    it('fills a missing day over several pieces and runs', async () => {
      await importing(ndjson(...clicks(['a'], '2020-01-01')))
      await daysGoBy(30)
      assert.deepEqual(counts(await importing(ndjson(...clicks(['a', 'b'], '2020-01-01')))), [1, 1, 0])
      await daysGoBy(1)
      assert.deepEqual(counts(await importing(ndjson(...clicks(['a', 'b', 'c'], '2020-01-01')))), [0, 2, 1])
    })

    it('adds nothing to a day whose figures came from elsewhere', async () => {
      await database.owner.raw(
        "insert into analytics_daily (vendor_id, date, clicks, last_event_at) values (?, '2020-01-01', 7, '2020-01-01T12:00Z')",
        [vendorId],
      )
      assert.deepEqual(counts(await importing(text)), [1, 0, 2])
      assert.equal((await storedDays(database.owner, vendorId))[0]?.clicks, '7')
    })

    it('counts no event twice, however often, in whatever parts and however late it is imported', async () => {
      const id = fc.integer({ min: 0, max: 11 })
      const step = fc.oneof(
        fc.array(id, { minLength: 1, maxLength: 12 }).map((ids) => ({ ids })),
        fc.integer({ min: 1, max: 45 }).map((days) => ({ days })),
      )
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
          vendorId = await database.createCompany({ timezone: 'Asia/Kathmandu' })
          for (const step of steps) {
            if ('days' in step) await daysGoBy(step.days)
            // An event keeps its day; a day has four events.
            else
              await importing(
                ndjson(...step.ids.flatMap((n) => clicks([`n${n}`], `2020-01-0${1 + (n % 3)}`))),
              )
          }
          const { rows } = await database.owner.raw(
            'select count(*) - count(distinct event_id) as twice from analytics_events where vendor_id = ?',
            [vendorId],
          )
          assert.equal(rows[0].twice, '0')
          await assertDaysEqualRecount()
        }),
        { numRuns: RUNS },
      )
    })
  })

  it('stops once the company is erased, since no erasure would find later rows', async () => {
    await database.owner.raw(`
      create function erase() returns trigger language plpgsql security definer as $$ begin
        update public.companies set erased_at = now() where vendor_id = new.vendor_id; return null; end $$;
      create trigger erase after insert on activity for each row execute function erase()`)
    const lines = Array.from({ length: 5_001 }, (_, n) => click(`e${n}`))
    await assert.rejects(importing(ndjson(...lines)), /stopped: There is no company ven_\w+\. What was/)
    await database.owner.raw('drop trigger erase on activity')
    assert.equal((await database.owner('analytics_event_ids').where({ vendor_id: vendorId })).length, 5_000)
  })
})
