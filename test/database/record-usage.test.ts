import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { ADDRESSES_PER_DAY_MAX } from '#shared/rules/clients.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { createTestClient, type TestClient } from '../support/auth.ts'
import { sharedDatabase } from '../support/database.ts'

const AT_MS = Date.parse('2026-11-20T10:30:30Z')
const TABLES = ['client_usage', 'client_usage_hourly', 'client_usage_by_minute', 'client_address_usage']

/** What whoever has the authorization server's role can do with usage: nothing but add to it. */
describe('record_usage', () => {
  const database = sharedDatabase()
  let owner: Knex
  let db: Database
  let client: TestClient
  let other: TestClient
  beforeEach(async () => {
    ;({ owner, auth: db } = database)
    client = await createTestClient(owner, {})
    other = await createTestClient(owner, {})
  })

  const record = (uses: unknown, { writer = randomUUID() as string, batch = 1 } = {}) =>
    db.raw('select record_usage(?, ?, ?, false, false)', [writer, batch, JSON.stringify(uses)])
  const token = (part: object = {}) => ({
    clientId: client.clientId,
    at_ms: AT_MS,
    scope: 'analytics:read',
    address: '192.0.2.1',
    ...part,
  })
  const everything = () => Promise.all(TABLES.map((table) => owner(table).orderByRaw('1, 2')))
  const rowsOf = (table: string, of = client) => owner(table).where({ client_id: of.clientId })

  it('adds a batch once, however often it is sent', async () => {
    const writer = randomUUID()
    await record([token()], { writer })
    const once = await everything()
    await record([token()], { writer })
    await record([token()], { writer, batch: 0 })
    assert.deepEqual(await everything(), once)
    await record([token()], { writer, batch: 2 })
    assert.deepEqual(await rowsOf('client_usage_hourly').pluck('tokens'), ['2'])
  })

  it('counts hours and days by UTC, in whatever time zone the session is', async () => {
    await db.transaction(async (transaction) => {
      await transaction.raw(`set local time zone 'Asia/Kolkata'`)
      const uses = JSON.stringify([token({ at_ms: Date.parse('2026-11-20T20:45:10Z') })])
      await transaction.raw('select record_usage(?, 1, ?, false, false)', [randomUUID(), uses])
    })
    assert.deepEqual(await rowsOf('client_usage_hourly').pluck('hour'), [new Date('2026-11-20T20:00:00Z')])
    const days = await rowsOf('client_address_usage').select(owner.raw('day::text'))
    assert.deepEqual(days, [{ day: '2026-11-20' }])
  })

  it('keeps the longest time between two tokens', async () => {
    for (const [after_ms, longest_s] of [
      [0, null],
      [3_600_000, 3_600],
      [3_700_000, 3_600],
    ] as const) {
      await record([token({ at_ms: AT_MS + after_ms })])
      assert.deepEqual(await rowsOf('client_usage').pluck('longest_quiet_s'), [longest_s])
    }
    for (const [hours, longest_s] of [
      [[0, 0], 0],
      [[13, 1, 2], 11 * 3_600],
      [[14, 19], 11 * 3_600],
    ] as const) {
      await record(hours.map((h) => token({ clientId: other.clientId, at_ms: AT_MS + h * 3_600_000 })))
      assert.deepEqual(await rowsOf('client_usage', other).pluck('longest_quiet_s'), [longest_s], `${hours}`)
    }
  })

  it('skips unknown clients, those of an erased company, and scopes that a client does not have', async () => {
    const before = await everything()
    await owner('companies').where({ vendor_id: other.vendorId }).update({ erased_at: new Date() })
    await record([
      token({ clientId: other.clientId }),
      token({ clientId: `cli_${'0'.repeat(22)}` }),
      token({ clientId: `' or true --` }),
      { at_ms: AT_MS },
    ])
    assert.deepEqual(await everything(), before)
    await record([token({ scope: 'boost:write analytics:read  x' })])
    const [scopes] = await rowsOf('client_usage').pluck('scopes')
    assert.deepEqual(Object.keys(scopes), ['analytics:read'])
  })

  it('keeps the latest use, and when an address was seen on a day, in whatever order batches come', async () => {
    for (const at_ms of [AT_MS, AT_MS - 1_000, AT_MS + 1_000, AT_MS]) await record([token({ at_ms })])
    const [first, last] = [new Date(AT_MS - 1_000), new Date(AT_MS + 1_000)]
    const { scopes, last_used_at } = await rowsOf('client_usage').first()
    const latest = [last_used_at, ...Object.values<string>(scopes).map((text) => new Date(text))]
    assert.deepEqual(latest, [last, last])
    const { first_seen_at, last_seen_at } = await rowsOf('client_address_usage').first()
    assert.deepEqual([first_seen_at, last_seen_at], [first, last])
  })

  /** Tokens of this client at so many addresses from `first` on. */
  const addresses = (count: number, { first = 0, ...part }: { first?: number; at_ms?: number } = {}) =>
    Array.from({ length: count }, (_, index) => token({ address: `10.0.0.${first + index}`, ...part }))
  const stored = () => rowsOf('client_address_usage').select('address', 'tokens')

  it('counts the tokens of the first 200 addresses of a client and day, and all of them by the hour', async () => {
    await record(addresses(150))
    await record([
      ...addresses(150, { first: 100 }),
      token({ address: '10.0.0.0' }),
      token({ clientId: other.clientId }),
    ])
    const rows = await stored()
    assert.equal(rows.length, ADDRESSES_PER_DAY_MAX)
    assert.equal(rows.find(({ address }) => address === '10.0.0.0')?.tokens, '2')
    await record([...addresses(1, { first: 500 }), ...addresses(1)])
    assert.equal((await stored()).length, 200)
    await record(addresses(1, { first: 500, at_ms: AT_MS + 86_400_000 }))
    assert.equal((await stored()).length, 201, 'on another day')
    const [{ tokens }] = await owner('client_usage_hourly').where({ client_id: client.clientId })
    assert.equal(Number(tokens), 150 + 151 + 2)
  })

  it('stores 200 addresses of a client and day however many processes record them at once', async () => {
    await record([token()])
    await Promise.all([0, 1, 2, 3].map((process) => record(addresses(180, { first: 180 * process }))))
    assert.equal((await stored()).length, 200)
  })

  const refused: [what: string, uses: () => unknown][] = [
    ['more uses than a batch holds', () => Array.from({ length: 1_001 }, () => token())],
    ['more text than a batch holds', () => [token({ scope: 'x'.repeat(1_000_001) })]],
    ['a token without an address', () => [token(), token({ address: null })]],
    ['a time that there is not', () => [token(), token({ at_ms: 1e300 })]],
    ['a time that is none', () => [token(), token({ at_ms: 'now' })]],
    ['no time', () => [token(), { clientId: client.clientId }]],
    ['no list', () => token()],
    ['a list of something else', () => [1, 'x', null]],
  ]
  for (const [what, uses] of refused)
    it(`refuses ${what}, and adds nothing of the batch`, async () => {
      const before = [await everything(), await owner('usage_writers')]
      await assert.rejects(record(uses()))
      assert.deepEqual([await everything(), await owner('usage_writers')], before)
    })

  it('writes to the real tables, whatever the caller has put in their place', async () => {
    await db
      .transaction(async (transaction) => {
        await transaction.raw('create temp table client_usage_hourly (stolen text) on commit drop')
        await transaction.raw('set local search_path = pg_temp, public')
        const values = [randomUUID(), JSON.stringify([token()])]
        await transaction.raw('select public.record_usage(?, 1, ?, false, false)', values)
      })
      .catch((error) => assert.match(error.message, /permission denied to create temporary tables/))
    await record([token()])
    assert.equal((await rowsOf('client_usage_hourly')).length, 1)
  })

  for (const [what, batches, isLost] of [
    ['nothing of a process that begins with batch 1', [1], false],
    ['nothing of batches that follow each other, sent again too', [1, 2, 2, 1, 3], false],
    ['a batch that the database does not have', [1, 3], true],
    ['and does not forget it with the next ones', [1, 3, 4], true],
    ['batches of a process that the database does not know', [7], true],
  ] as const)
    it(`marks as possibly lost ${what}`, async () => {
      const writer = randomUUID()
      for (const batch of batches) await record([token()], { writer, batch })
      const { batch, lost_at } = await owner('usage_writers').where({ writer }).first()
      assert.deepEqual([Number(batch), lost_at !== null], [Math.max(...batches), isLost])
    })

  it('keeps a quiet time that a wrong clock makes longer than an integer holds', async () => {
    for (const at of ['2026-11-20', '2226-11-20', '1826-11-20'])
      await record([token({ at_ms: Date.parse(at) })])
    await record(['1826', '2026'].map((at) => token({ clientId: other.clientId, at_ms: Date.parse(at) })))
    const quiet = owner('client_usage').whereIn('client_id', [client.clientId, other.clientId])
    assert.deepEqual(await quiet.pluck('longest_quiet_s'), [2_147_483_647, 2_147_483_647])
  })
})
