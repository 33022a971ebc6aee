import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Database } from '#shared/stores/postgres.ts'
import type { AnalyticsEvent } from '../../../apps/api/analytics/event.ts'
import {
  datesClosedToImports,
  findRememberedIds,
  readRevisions,
  readStoredDays,
  storeEvents,
} from '../../../apps/api/analytics/store.ts'
import { eraseCompanyRows } from '../../../infra/admin/companies.ts'
import { migrate } from '../../../infra/database/migrate.ts'
import { recount, storedDays } from '../../support/analytics.ts'
import { startApi } from '../../support/api.ts'
import { joinNodes } from '../../support/citus.ts'
import { sharedDatabase } from '../../support/database.ts'
import { createEvents, createSender, type Sender } from '../../support/event-sender.ts'
import { createEmptyDatabase } from '../../support/servers.ts'
import { connectedDatabase } from '../../support/stores.ts'
import { createTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'

const TABLES = ['analytics_daily', 'analytics_event_ids', 'analytics_events', 'analytics_revisions']
const DATE = '2026-11-20'
const click = (eventId: string = randomUUID()): AnalyticsEvent => ({
  eventId,
  type: 'click',
  occurredAt_ms: Date.parse(`${DATE}T12:00:00Z`),
  date: DATE,
  quantity: 1,
  amountMinor: null,
})
const nodeUrls = () => String(process.env.TEST_POSTGRES_URLS).split(' ')

/** Returns the rows that the shards of a table have, asked one by one. */
async function countInShards(db: Knex, table: string, condition = 'true'): Promise<number> {
  const { rows } = await db.raw('select sum(result::bigint) as count from run_command_on_shards(?, ?)', [
    table,
    `select count(*) from %s where ${condition}`,
  ])
  return Number(rows[0].count)
}

describe('events and figures on a Citus cluster', () => {
  const database = sharedDatabase()

  const statements: Record<string, (db: Database, vendorId: string) => Promise<unknown>> = {
    readRevisions: (db, vendorId) => readRevisions(db, [vendorId]),
    readStoredDays: (db, vendorId) => readStoredDays(db, { vendorId, from: '2026-01-01', to: DATE }),
    datesClosedToImports: (db, vendorId) => datesClosedToImports(db, vendorId, [DATE]),
    findRememberedIds: (db, vendorId) => findRememberedIds(db, vendorId, [click()]),
    storeEvents: (db, vendorId) => storeEvents(db, vendorId, [click(), click('again')]),
  }
  for (const [name, run] of Object.entries(statements))
    it(`asks one shard in ${name}`, async () => {
      await using db = connectedDatabase(database.apiUrl)
      const connection = await db.client.acquireConnection()
      const send = connection.query.bind(connection)
      const sent: { text: string; values: unknown[] }[] = []
      connection.query = (query: { text: string; values: unknown[] }, ...rest: unknown[]) => {
        sent.push(query)
        return send(query, ...rest)
      }
      db.client.releaseConnection(connection)
      await run(db, await database.createCompany())
      assert.equal(sent.length, 1)
      const [{ text = '', values = [] } = {}] = sent
      const { rows } = await send({ text: `explain ${text}`, values })
      const plan: string = rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n')
      assert.deepEqual(plan.match(/Task Count: \d+/g), ['Task Count: 1'], plan)
    })

  it('is not distributed without a worker', async () => {
    await using empty = await createEmptyDatabase()
    await using db = connectedDatabase(empty.ownerUrl)
    await db.raw('create extension citus')
    const migrating = migrate({ ownerUrl: empty.ownerUrl, distribute: 'citus' })
    await assert.rejects(migrating, /needs the extension citus .*, and a worker\./)
  })

  it('copies the rows of one Postgres for an owner without superuser, twice, and keeps none of them there', async () => {
    await using empty = await createEmptyDatabase()
    await joinNodes(nodeUrls(), empty.name)
    await using db = connectedDatabase(empty.ownerUrl)
    const owner = `owner_${empty.name}`
    await db.raw(`create role ${owner} login createrole password 'x'`)
    for (const url of nodeUrls()) {
      await using node = connectedDatabase(url)
      await node.raw(`alter database ${empty.name} owner to ${owner}`)
    }
    const ownerUrl = Object.assign(new URL(empty.ownerUrl), { username: owner, password: 'x' }).href
    await migrate({ ownerUrl })
    for (const vendorId of ['ven_a', 'ven_b', 'ven_c']) await storeEvents(db, vendorId, [click(), click()])
    await db.raw(`insert into analytics_events_default select vendor_id, 'old', type, date, occurred_at,
      now() - interval '99 days', quantity from analytics_events`)
    for (let times = 1; times <= 2; times++) await migrate({ ownerUrl, distribute: 'citus' })
    const { rows } = await db.raw(
      `select sum(pg_relation_size(oid))::int as bytes from pg_class where relname like 'analytics_%' and relkind = 'r'`,
    )
    const counts = await Promise.all(TABLES.map((table) => countInShards(db, table)))
    assert.deepEqual([rows[0].bytes, ...counts], [0, 3, 6, 12, 3])
    await empty.drop()
    await using postgres = connectedDatabase(nodeUrls()[0] as string)
    await postgres.raw(`drop role ${owner}`)
  })

  it('purges nothing too early, however the caller wants dates to be written', async () => {
    const vendorId = await database.createCompany()
    await storeEvents(database.api, vendorId, [click()])
    await using db = connectedDatabase(
      `${database.apiUrl}?options=${encodeURIComponent('-c datestyle=SQL,DMY')}`,
    )
    await db.raw('select forget_old_analytics_event_ids(days, 1000) from generate_series(35, 64) as days')
    assert.equal(await countInShards(database.owner, 'analytics_event_ids', `vendor_id = '${vendorId}'`), 1)
  })

  it('erases a company on every shard, and counts what it erased', async () => {
    const [erased, other] = [await database.createCompany(), await database.createCompany()]
    for (const vendorId of [erased, other]) await storeEvents(database.api, vendorId, [click(), click()])
    await database.owner('companies').where({ vendor_id: erased }).update({ erased_at: new Date() })
    await using operator = connectedDatabase(database.operatorUrl)
    assert.equal(await eraseCompanyRows(operator, erased, { show() {} }), 1 + 2 + 2 + 1)
    const left = (vendorId: string) =>
      Promise.all(TABLES.map((table) => countInShards(database.owner, table, `vendor_id = '${vendorId}'`)))
    assert.deepEqual(await left(erased), [0, 0, 0, 0])
    assert.deepEqual(await left(other), [1, 2, 2, 1])
  })
})

/** Has the nodes reach each worker through a network. Returns these by the port that the nodes know now. */
async function putNetworksBetween(db: Knex, stack: AsyncDisposableStack): Promise<Map<number, TcpProxy>> {
  const { rows } = await db.raw('select nodeid, nodeport from pg_dist_node where groupid > 0')
  const networks = new Map<number, TcpProxy>()
  for (const { nodeid, nodeport } of rows) {
    const network = stack.use(await createTcpProxy(nodeport))
    networks.set(network.port, network)
    await db.raw('select citus_update_node(?, ?, ?)', [nodeid, '127.0.0.1', network.port])
  }
  return networks
}

it('purges the other shards while a worker is away, and says what failed', async () => {
  await using api = await startApi()
  await using stack = new AsyncDisposableStack()
  const [network] = [...(await putNetworksBetween(api.db, stack)).values()] as [TcpProxy]
  await api.db.raw(
    `insert into analytics_event_ids select 'ven_' || n, 'e', current_date - 40 from generate_series(1, 60) as n`,
  )
  const forget = () => api.apiDb.raw('select forget_old_analytics_event_ids(35, 1000) as n')
  network.cut()
  await assert.rejects(forget(), /a shard failed: /)
  network.heal()
  const { n } = (await forget()).rows[0]
  assert.ok(n > 0 && n < 60, `${n} were left`)
  assert.equal(await countInShards(api.db, 'analytics_event_ids'), 0)
})

const COMPANIES = 24
const EVENTS_AT_ONCE = 20
const AWAY_MS = 5_000
/** A call that began before the cut, or ends after the return. */
const MARGIN_MS = 500

it('fails only the companies of a worker that is away, and counts each event once', async () => {
  await using api = await startApi({ env: { RATE_API_PER_CLIENT: '1000000/60' } })
  await using stack = new AsyncDisposableStack()
  const networks = await putNetworksBetween(api.db, stack)
  const portOf = async (vendorId: string): Promise<number> => {
    const { rows } = await api.db.raw(
      `select nodeport from pg_dist_placement join pg_dist_node using (groupid)
       where shardid = get_shard_id_for_distribution_column('analytics_event_ids', ?::text)`,
      [vendorId],
    )
    return rows[0].nodeport
  }
  const events = createEvents(api)
  const senders = await Promise.all(Array.from({ length: COMPANIES }, () => createSender(api)))
  const ports = await Promise.all(senders.map(({ vendorId }) => portOf(vendorId)))
  const [lostPort] = ports as [number]
  assert.ok(ports.some((port) => port !== lostPort))

  const calls: { isLost: boolean; began_ms: number; ended_ms: number; status: number }[] = []
  const sent = new Map<string, number>()
  let isOver = false
  async function timed(isLost: boolean, request: () => Promise<{ status: number }>): Promise<number> {
    const began_ms = performance.now()
    const { status } = await request()
    calls.push({ isLost, began_ms, ended_ms: performance.now(), status })
    return status
  }
  /** Repeats each call until it is acknowledged, as a sender does. */
  async function report(sender: Sender, isLost: boolean): Promise<void> {
    while (!isOver) {
      const batch = Array.from({ length: EVENTS_AT_ONCE }, () => events.click())
      while ((await timed(isLost, () => sender.send(...batch))) !== 200) await sleep(100)
      sent.set(sender.vendorId, (sent.get(sender.vendorId) ?? 0) + EVENTS_AT_ONCE)
      await timed(isLost, () => sender.read())
    }
  }
  const reports = senders.map((sender, i) => report(sender, ports[i] === lostPort))
  await sleep(3_000)
  const cut_ms = performance.now()
  networks.get(lostPort)?.cut()
  await sleep(AWAY_MS)
  networks.get(lostPort)?.heal()
  const back_ms = performance.now()
  await sleep(3_000)
  isOver = true
  await Promise.all(reports)

  const others = calls.filter(({ isLost }) => !isLost)
  assert.deepEqual(new Set(others.map(({ status }) => status)), new Set([200]))
  const [from_ms, until_ms] = [cut_ms + MARGIN_MS, back_ms - MARGIN_MS]
  const during = calls.filter(({ began_ms, ended_ms }) => began_ms > from_ms && ended_ms < until_ms)
  const failed = during.filter(({ isLost }) => isLost)
  assert.deepEqual(new Set(failed.map(({ status }) => status)), new Set([503]))
  const firstBack = calls.find(
    ({ isLost, began_ms, status }) => isLost && began_ms > back_ms && status === 200,
  )
  assert.ok(firstBack)
  for (const { vendorId } of senders) {
    const days = await storedDays(api.db, vendorId)
    assert.deepEqual(days, await recount(api.db, vendorId))
    assert.equal(Number(days[0]?.clicks), sent.get(vendorId))
  }
  const acknowledged = [...sent.values()].reduce((sum, n) => sum + n, 0)
  console.log(
    `a worker away: ${failed.length} calls of its companies failed, none of ${during.length - failed.length} ` +
      `others; again after ${Math.round(firstBack.ended_ms - back_ms)} ms; ${acknowledged} events, each once`,
  )
})
