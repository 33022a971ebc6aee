import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Database } from '#shared/stores/postgres.ts'
import { type ImportOptions, importEvents } from '../../infra/admin/analytics.ts'
import { readLines } from '../../infra/admin/files.ts'
import { recount, storedDays } from '../support/analytics.ts'
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
      for (let n = 0; n < 8_192; n += 1) {
        yield Buffer.alloc(64 * 1_024, 'x')
        peak_bytes = Math.max(peak_bytes, process.memoryUsage().rss)
      }
    }
    const texts: unknown[] = []
    for await (const lines of readLines(chunks())) texts.push(...lines.map(({ text }) => text))
    assert.deepEqual(texts, [undefined])
    assert.ok(peak_bytes - before_bytes < 256 * MIB, `${(peak_bytes - before_bytes) / MIB} MiB`)
  })
})

describe('analytics import', () => {
  const database = sharedDatabase()
  let db: Database
  const folder = sharedFolder()
  let vendorId: string
  const clock = { now: () => Date.parse('2026-11-20T17:04:00Z') }

  before(() => {
    db = database.connect('operator', { poolSize: 2 })
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
    await database.owner.raw(`
      update analytics_event_ids set received_on = received_on - ${days};
      update analytics_daily set first_received_on = first_received_on - ${days};
      select forget_old_analytics_event_ids(35, 1000000)`)
  }

  const days = () => storedDays(database.owner, vendorId)
  const assertDaysEqualRecount = async () =>
    assert.deepEqual(await days(), await recount(database.owner, vendorId))

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
    const summary = (await days()).map((day) => [
      day.date,
      day.impressions,
      day.units_sold,
      day.revenue_minor,
    ])
    assert.deepEqual(summary, [
      ['1970-01-01', '0', '0', '0'],
      ['2003-03-29', '0', '0', '0'],
      ['2003-03-30', '500', '2', '1999'],
      ['2026-11-20', '0', '0', '0'],
    ])
    await assertDaysEqualRecount()
  })

  it('takes CRLF, a byte order mark, empty lines and no line end at the end', async () => {
    const [a, b] = [click('a'), click('b')].map((event) => JSON.stringify(event))
    assert.deepEqual(counts(await importing(`\uFEFF${a}\r\n\r\n${b}`)), [2, 0, 0])
  })

  it('refuses bad lines alone, each with its number and its reason', async () => {
    const order = { ...click('x'), type: 'order', quantity: 1, amountMinor: 5, currency: 'EUR' }
    const wrong = { ...order, quantity: 1.5, amountMinor: -1 }
    const late = click('x', '2026-11-20T17:09:00.001Z')
    const bad: [unknown, RegExp][] = [
      [{ ...click('x'), type: 'view' }, /^2: type must be impression,/],
      [late, /^3: occurredAt must not lie more than 5 minutes in the future$/],
      [wrong, /^4: quantity must be a whole .*; amountMinor must be at least 0$/],
      [{ ...order, currency: 'USD' }, /^5: currency must be EUR/],
      [{ ...click('x'), '\u001b[2J\n': 1 }, /^6: \?\[2J\? is not a known field/],
      [{ ...click('x'), [`y${'y'.repeat(1_000)}`]: 1 }, /^7: y{300}$/],
      [click('x'.repeat(70_000)), /^8: is not UTF-8 or longer than 65536 bytes$/],
    ]
    const text = ndjson(click('good-1'), ...bad.map(([line]) => line), click('good-2'))
    assert.deepEqual(counts(await importing(text)), [2, 0, bad.length])
    for (const [index, [, expected]] of bad.entries()) assert.match(refusedLines[index] ?? '', expected)
    assert.equal(refusedLines.length, bad.length)
  })

  it('refuses lines that are not JSON, not UTF-8, or hold a number that is not whole', async () => {
    const lines = ndjson(click('a'), [], { ...click('b'), quantity: 1.5 })
    const content = Buffer.from(`${lines}{"eventId":\n"\xff"\n`, 'latin1')
    assert.deepEqual(counts(await importing(content)), [1, 0, 4])
    const expected = ['4: is not JSON', '5: is not UTF-8 or longer than 65536 bytes']
    assert.deepEqual(refusedLines.slice(2), expected)
  })

  it('counts no line that it had read, but not stored, when it was interrupted', async () => {
    const abort = new AbortController()
    const onProgress = ({ lines }: { lines: number }) => lines === 2 && abort.abort()
    const interrupted = { lines: 0, accepted: 0, duplicates: 0, refused: 0, interrupted: true }
    const content = ndjson(...clicks(['a', 'b', 'c'], '2026-11-01'))
    assert.deepEqual(await importing(content, { onProgress, signal: abort.signal }), interrupted)
  })

  it('stops where a total of a day would pass 2^53 - 1', async () => {
    const second = { ...click('b'), quantity: Number.MAX_SAFE_INTEGER }
    await assert.rejects(importing(ndjson(click('a'), second)), /The import stopped: a total of a day/)
    assert.deepEqual(await days(), [])
  })

  describe('of the same file again', () => {
    const text = ndjson(...clicks(['a', 'b'], '2020-01-01'), ...clicks(['c'], '2020-01-02'))

    it('adds nothing to days with figures once its ids are forgotten, but fills days still missing', async () => {
      await importing(text)
      const before = await days()
      await daysGoBy(40)
      const longer = ndjson(...clicks(['a', 'b', 'new'], '2020-01-01'), ...clicks(['d', 'e'], '2020-01-03'))
      assert.deepEqual(counts(await importing(longer)), [2, 0, 3])
      assert.match(refusedLines[0] as string, /^1: the day 2020-01-01 has figures/)
      const [first, second, third] = await days()
      assert.deepEqual([first, second, third?.clicks], [...before, '2'])
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
      assert.equal((await days())[0]?.clicks, '7')
    })

    it('counts no event twice, however often, in whatever parts and however late it is imported', async () => {
      // Events to import, or days that go by.
      const ids = fc.array(fc.integer({ min: 0, max: 11 }), { minLength: 1, maxLength: 12 })
      const step = fc.oneof(ids, fc.integer({ min: 1, max: 45 }))
      // An event keeps its day; a day has four events.
      const lineOf = (n: number) => ndjson(click(`n${n}`, `2020-01-0${1 + (n % 3)}T12:00:00Z`))
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
          vendorId = await database.createCompany({ timezone: 'Asia/Kathmandu' })
          for (const step of steps)
            if (typeof step === 'number') await daysGoBy(step)
            else await importing(step.map(lineOf).join(''))
          const stored = database.owner('analytics_events').where({ vendor_id: vendorId })
          const eventIds = await stored.pluck('event_id')
          assert.equal(new Set(eventIds).size, eventIds.length)
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
