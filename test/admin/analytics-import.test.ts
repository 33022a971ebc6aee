import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import knex, { type Knex } from 'knex'
import { insertCompany } from '#shared/accounts/people.ts'
import { newVendorId } from '#shared/oauth/new-ids.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { type ImportOptions, importEvents } from '../../infra/admin/analytics-import.ts'
import { readLines } from '../../infra/admin/event-file.ts'
import { recount, storedDays } from '../support/analytics.ts'
import { createTestClock } from '../support/clock.ts'
import { testOperator } from '../support/operator.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers.ts'
import { EVERYTHING } from '../support/tier.ts'

const run = promisify(execFile)
const IMPORT_ONCE = join(import.meta.dirname, '../support/import-once.ts')
const MIB = 1_024 * 1_024
const RUNS = EVERYTHING ? 60 : 30
const HEADER = 'eventId,type,occurredAt,quantity,amountMinor,currency'

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
})

describe('analytics import', () => {
  let database: TestDatabase
  let db: Database
  let owner: Knex
  let folder: string
  let vendorId: string
  const clock = createTestClock()

  const connect = () =>
    createPostgres({ url: database.operatorUrl, poolSize: 2, applicationName: 'import-test' })

  before(async () => {
    database = await createTestDatabase()
    db = connect()
    owner = knex({ client: 'pg', connection: database.ownerUrl, pool: { min: 0, max: 2 } })
    folder = await mkdtemp(join(tmpdir(), 'analytics-import-'))
    clock.set('2026-11-20T17:04:00Z')
  })
  after(async () => {
    await Promise.all([db.destroy(), owner.destroy()])
    await database.drop()
    await rm(folder, { recursive: true })
  })
  beforeEach(async () => {
    vendorId = newVendorId()
    await insertCompany(owner, { vendorId, name: 'Acme', timezone: 'Europe/Berlin', currency: 'EUR' })
  })

  async function importing(content: string | Buffer, options: Partial<ImportOptions> = {}) {
    const file = join(folder, `${vendorId}.${options.format ?? 'csv'}`)
    await writeFile(file, content)
    return importEvents({ db, clock, vendorId, by: testOperator(), file, format: 'csv', ...options })
  }
  const csv = (...lines: string[]): string => [HEADER, ...lines, ''].join('\n')
  const ndjson = (...events: unknown[]): string =>
    events.map((event) => `${JSON.stringify(event)}\n`).join('')
  const clicks = (ids: readonly string[], date: string): string[] =>
    ids.map((id) => `${id},click,${date}T12:00:00Z,,,`)

  const counts = ({
    accepted,
    duplicates,
    refused,
  }: {
    accepted: number
    duplicates: number
    refused: number
  }) => [accepted, duplicates, refused]

  async function refusedLines(): Promise<string[]> {
    const text = await readFile(join(folder, `${vendorId}.csv.refused.csv`), 'utf8')
    return text.trimEnd().split('\n').slice(1)
  }

  /** So many days go by: everything of the company was received so much earlier, and old ids are forgotten. */
  async function daysGoBy(days: number): Promise<void> {
    await owner.raw('update analytics_event_ids set received_on = received_on - ?::int', [days])
    await owner.raw('update analytics_daily set first_received_on = first_received_on - ?::int', [days])
    await owner.raw('select forget_old_analytics_event_ids(1000000)')
  }

  async function assertDaysEqualRecount(): Promise<void> {
    assert.deepEqual(await storedDays(owner, vendorId), await recount(owner, vendorId))
  }

  it("stores history of any age in the company's days, from CSV", async () => {
    const result = await importing(
      csv(
        'a,impression,2003-03-30T01:30:00Z,500,,',
        'b,click,2003-03-29T22:59:59.999Z,,,',
        'c,order,2003-03-29T23:00:00Z,2,1999,EUR',
        'd,boost_spend,1970-01-01T00:00:00Z,,700,EUR',
        '"e, ""quoted""",click,2026-11-20T17:09:00Z,1,,',
      ),
    )
    assert.deepEqual(result, {
      lines: 5,
      accepted: 5,
      duplicates: 0,
      refused: 0,
      refusedFile: null,
      stopped: false,
    })
    const days = await storedDays(owner, vendorId)
    assert.deepEqual(
      days.map(({ date }) => date),
      ['1970-01-01', '2003-03-29', '2003-03-30', '2026-11-20'],
    )
    assert.deepEqual(
      [days[2]?.impressions, days[2]?.units_sold, days[2]?.revenue_minor],
      ['500', '2', '1999'],
    )
    await assertDaysEqualRecount()
    assert.ok(!existsSync(join(folder, `${vendorId}.csv.refused.csv`)))
  })

  it('stores the same from NDJSON', async () => {
    const result = await importing(
      ndjson(
        { eventId: 'a', type: 'click', occurredAt: '2020-01-01T12:00:00Z' },
        { eventId: 'b', type: 'order', occurredAt: '2020-01-01T12:00:00Z', amountMinor: 5, currency: 'EUR' },
      ),
      { format: 'ndjson' },
    )
    assert.deepEqual(counts(result), [2, 0, 0])
    await assertDaysEqualRecount()
  })

  it('takes columns in any order, CRLF, a byte order mark, empty lines and no line end at the end', async () => {
    const text =
      '\uFEFFtype,eventId,occurredAt\r\nclick,a,2020-01-01T12:00:00Z\r\n\r\nclick,b,2020-01-01T12:00:00Z'
    assert.deepEqual(counts(await importing(text)), [2, 0, 0])
  })

  it('refuses bad lines alone, each with its number and its reason', async () => {
    const bad: [string, RegExp][] = [
      ['x1,view,2020-01-01T12:00:00Z,,,', /^3,"x1","type must be an event whose type is/],
      ['x2,click,2020-01-01,,,', /^4,"x2","occurredAt must be a time/],
      [
        'x3,click,2026-11-20T17:09:00.001Z,,,',
        /^5,"x3","occurredAt must not lie more than 5 minutes in the future"/,
      ],
      ['x4,order,2020-01-01T12:00:00Z,1,5,USD', /^6,"x4","currency must be EUR/],
      [
        'x5,order,2020-01-01T12:00:00Z,1.5,-1,EUR',
        /^7,"x5","quantity must be a whole .*; amountMinor must be a whole/,
      ],
      ['x6,click,2020-01-01T12:00:00Z,9007199254740992,,', /^8,"x6","quantity must be a whole number/],
      ['x7,click,2020-01-01T12:00:00Z', /^9,"","has 3 values for 6 columns"/],
      ['"x8,click,2020-01-01T12:00:00Z,,,', /^10,"","has unbalanced quotes"/],
      [',click,2020-01-01T12:00:00Z,,,', /^11,"","eventId must be a string"/],
      [
        `${'y'.repeat(70_000)},click,2020-01-01T12:00:00Z,,,`,
        /^12,"","is not UTF-8 or longer than 65536 bytes"/,
      ],
      ['"q""9",click,never,,,', /^13,"q""9","occurredAt must be/],
      ['x10,click,2020-02-30T12:00:00Z,,,', /^14,"x10","occurredAt must be a time/],
      ['x11,click,2019-02-29T12:00:00Z,,,', /^15,"x11","occurredAt must be a time/],
      ['x12,click,2020-01-01T12:00:00Z,,,,', /^16,"","has 7 values for 6 columns"/],
    ]
    const text = csv(
      'good-1,click,2020-01-01T12:00:00Z,,,',
      ...bad.map(([line]) => line),
      'good-2,click,2020-01-01T12:00:00Z,,,',
    )
    assert.deepEqual(counts(await importing(text)), [2, 0, bad.length])
    const lines = await refusedLines()
    bad.forEach(([, expected], index) => {
      assert.match(lines[index] as string, expected)
    })
    assert.equal(lines.length, bad.length)
  })

  it('refuses NDJSON lines that are not JSON, not UTF-8, or hold a number that would be rounded', async () => {
    const good = JSON.stringify({ eventId: 'a', type: 'click', occurredAt: '2020-01-01T12:00:00Z' })
    const content = Buffer.concat([
      Buffer.from(`${good}\n{"eventId":\n`),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from('[]\n'),
      Buffer.from(`${good.replace('"a"', '"b"').slice(0, -1)},"quantity":4503599627370496.5}\n`),
    ])
    assert.deepEqual(counts(await importing(content, { format: 'ndjson' })), [1, 0, 4])
  })

  it('refuses a line that would take a sum past 2^53 - 1, and stores the others', async () => {
    const max = Number.MAX_SAFE_INTEGER
    const order = (id: string, amount: number) => `${id},order,2020-01-01T12:00:00Z,1,${amount},EUR`
    const result = await importing(csv(order('a', max - 5), order('b', 6), order('c', 5), order('d', 1)))
    assert.deepEqual(counts(result), [2, 0, 2])
    assert.deepEqual(
      (await refusedLines()).map((line) => line.split(',')[0]),
      ['3', '5'],
    )
    assert.equal((await storedDays(owner, vendorId))[0]?.revenue_minor, String(max))
  })

  it('reads a line of any length in little memory', async () => {
    const file = join(folder, 'long-line.csv')
    await writeFile(file, `${HEADER}\n`)
    await appendFile(file, Buffer.alloc(256 * MIB, 'x'))
    const { stdout } = await run(process.execPath, [IMPORT_ONCE, database.operatorUrl, vendorId, file])
    const { result, grown_bytes } = JSON.parse(stdout)
    assert.deepEqual(counts(result), [0, 0, 1])
    assert.ok(grown_bytes < 128 * MIB, `${grown_bytes / MIB} MiB`)
  })

  describe('of the same file again', () => {
    const text = csv(...clicks(['a', 'b'], '2020-01-01'), ...clicks(['c'], '2020-01-02'))

    it('skips lines that it has already stored', async () => {
      await importing(text)
      const days = await storedDays(owner, vendorId)
      assert.deepEqual(counts(await importing(text)), [0, 3, 0])
      assert.deepEqual(await storedDays(owner, vendorId), days)
    })

    it('stores the rest after it was stopped, in whatever piece', async () => {
      const many = csv(
        ...Array.from({ length: 12_000 }, (_, n) => `n${n},click,2020-01-0${1 + (n % 9)}T12:00:00Z,,,`),
      )
      const stopping = new AbortController()
      const first = await importing(many, { signal: stopping.signal, onProgress: () => stopping.abort() })
      assert.equal(first.stopped, true)
      assert.ok(first.accepted >= 5_000 && first.accepted < 12_000)
      await assertDaysEqualRecount()
      assert.deepEqual(counts(await importing(many)), [12_000 - first.accepted, first.accepted, 0])
      await assertDaysEqualRecount()
      const { rows } = await owner.raw('select action from activity where vendor_id = ?', [vendorId])
      assert.deepEqual(rows, [{ action: 'analytics.imported' }, { action: 'analytics.imported' }])
    })

    it('stores the rest after its connection was killed in the middle of a piece', async () => {
      const many = csv(
        ...Array.from({ length: 12_000 }, (_, n) => `n${n},click,2020-01-0${1 + (n % 9)}T12:00:00Z,,,`),
      )
      const gate = await owner.transaction()
      let dying: Promise<void> | undefined
      const kill = async () => {
        await gate.raw('lock table analytics_daily in exclusive mode')
        for (let killed = 0; killed === 0; ) {
          const { rows } = await owner.raw(
            `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
               and wait_event_type = 'Lock' and application_name = 'import-test'`,
          )
          killed = rows.length
        }
      }
      const crashed = importing(many, {
        onProgress: () => {
          dying ??= kill()
        },
      })
      await assert.rejects(crashed, /The import stopped: .*terminat.*run it again/)
      await dying
      await gate.rollback()
      await assertDaysEqualRecount()
      // As the next run of the command would.
      await db.destroy()
      db = connect()
      const again = await importing(many)
      assert.equal(again.accepted + again.duplicates, 12_000)
      assert.ok(again.duplicates >= 5_000)
      await assertDaysEqualRecount()
      const { rows } = await owner.raw('select sum(clicks) as n from analytics_daily where vendor_id = ?', [
        vendorId,
      ])
      assert.equal(rows[0].n, '12000')
    })

    it('adds nothing to days with figures once its ids are forgotten, but fills days still missing', async () => {
      await importing(text)
      const days = await storedDays(owner, vendorId)
      await daysGoBy(40)
      const longer = csv(...clicks(['a', 'b', 'new'], '2020-01-01'), ...clicks(['d', 'e'], '2020-01-03'))
      assert.deepEqual(counts(await importing(longer)), [2, 0, 3])
      assert.match((await refusedLines())[0] as string, /^2,"a","the day 2020-01-01 has figures/)
      assert.deepEqual((await storedDays(owner, vendorId)).slice(0, 2), days)
      assert.equal((await storedDays(owner, vendorId))[2]?.clicks, '2')
    })

    it('fills a missing day over several pieces and runs', async () => {
      await importing(csv(...clicks(['a'], '2020-01-01')))
      await daysGoBy(30)
      assert.deepEqual(counts(await importing(csv(...clicks(['a', 'b'], '2020-01-01')))), [1, 1, 0])
      await daysGoBy(1)
      assert.deepEqual(counts(await importing(csv(...clicks(['a', 'b', 'c'], '2020-01-01')))), [0, 2, 1])
    })

    it('adds nothing to a day whose figures came from elsewhere', async () => {
      await owner.raw(
        "insert into analytics_daily (vendor_id, date, clicks, last_event_at) values (?, '2020-01-01', 7, '2020-01-01T12:00Z')",
        [vendorId],
      )
      assert.deepEqual(counts(await importing(text)), [1, 0, 2])
      assert.equal((await storedDays(owner, vendorId))[0]?.clicks, '7')
    })

    it('counts no event twice, however often, in whatever parts and however late it is imported', async () => {
      const id = fc.integer({ min: 0, max: 11 })
      const step = fc.oneof(
        fc.array(id, { minLength: 1, maxLength: 12 }).map((ids) => ({ ids })),
        fc.integer({ min: 1, max: 45 }).map((days) => ({ days })),
      )
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
          vendorId = newVendorId()
          await insertCompany(owner, { vendorId, name: 'Acme', timezone: 'Asia/Kathmandu', currency: 'EUR' })
          for (const step of steps) {
            if ('days' in step) await daysGoBy(step.days)
            // An event keeps its day; a day has four events.
            else
              await importing(csv(...step.ids.flatMap((n) => clicks([`n${n}`], `2020-01-0${1 + (n % 3)}`))))
          }
          const { rows } = await owner.raw(
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

  describe('of what is not usable', () => {
    const unusable: [string, string | Buffer, RegExp][] = [
      ['an empty file', '', /has no header line/],
      ['a header that lacks a column', 'eventId,type\n', /header line must name/],
      ['a header with an unknown column', `${HEADER},vendorId\n`, /header line must name/],
      ['a header with a column twice', `${HEADER},type\n`, /header line must name/],
      ['no header', 'a,click,2020-01-01T12:00:00Z,,,\n', /header line must name/],
      ['something binary', Buffer.from([0x50, 0x4b, 0x03, 0x04, 0x0a]), /header line must name/],
    ]
    for (const [what, content, message] of unusable) {
      it(`says that ${what} is unusable, and leaves no list of refused lines`, async () => {
        await assert.rejects(importing(content), message)
        assert.ok(!existsSync(join(folder, `${vendorId}.csv.refused.csv`)))
      })
    }

    it('names an unknown company, a missing file, a folder, and a list that cannot be written', async () => {
      await assert.rejects(importing(csv(), { vendorId: 'ven_nobody' }), /There is no company ven_nobody/)
      await assert.rejects(
        importing(csv(), { file: join(folder, 'missing.csv') }),
        /The file .*missing\.csv does not exist/,
      )
      await assert.rejects(importing(csv(), { file: folder }), /is not a file/)
      await mkdir(join(folder, `${vendorId}.csv.refused.csv`))
      await assert.rejects(importing(csv(...clicks(['a'], '2020-01-01'))), /cannot be created beside/)
      assert.deepEqual(await storedDays(owner, vendorId), [])
    })
  })
})
