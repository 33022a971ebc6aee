import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { readClientCredentials } from '#shared/oauth/client-credentials.ts'
import { systemClock } from '#shared/process/clock.ts'
import { readPublishedRevocations, readStandings } from '#shared/revocation/state.ts'
import { listActivity, wasRemoved } from '../../apps/api/accounts/activity.ts'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import { listAccounts, listMembers, listMemberships, PEOPLE_MAX } from '../../apps/api/accounts/people.ts'
import {
  findClient,
  listClients,
  listExpiringClients,
  listQuietClients,
  listSuspectedClients,
  markFoundSecrets,
} from '../../apps/api/clients/records.ts'
import { claimMails, mailManagers } from '../../apps/api/mail/outbox.ts'
import { listInvitations } from '../../apps/api/people/invitations.ts'
import { listPurges } from '../../apps/api/purges.ts'
import { readRecentRevocations } from '../../apps/api/revocation/recent-revocations.ts'
import { REVOKED_TOKEN_PURGE } from '../../apps/api/revocation/start-reconciling.ts'
import { insertPasswordReset } from '../../apps/api/sessions/password-resets.ts'
import { listSessions } from '../../apps/api/sessions/sessions.ts'
import { readOverdue } from '../../apps/api/stores/purge.ts'
import { readHistories } from '../../apps/api/usage/failing.ts'
import { readUsageHistory, readUsageSummaries, readUses } from '../../apps/api/usage/read.ts'
import type { UsageStores } from '../../apps/api/usage/windows.ts'
import { listFailingIssuers, listIssuers } from '../../apps/api/workload/issuers.ts'
import { forBlock } from '../support/block.ts'
import { silentLog } from '../support/log.ts'
import { explainedDatabase, type Plan } from '../support/plans.ts'

const ROWS = 20_000
const USERS = 4 * ROWS
const LIMIT = 51
/** A page, and for each of its rows those that it names in other tables. */
const PAGE_ROWS_MAX = 4 * LIMIT
/** By a statement that lists, and by one that says where to go on. */
const LOOKED_AT_MAX = 2 * 5_000

const OF_EACH_CLIENT = {
  client_usage: 'now(), now(), 0',
  client_usage_hourly: 'now(), 1, 0',
  client_usage_by_minute: 'now(), 1, 0',
  client_address_usage: `now(), '192.0.2.1', 1, now(), now()`,
}

const ROW_COUNTS = ['Actual Rows', 'Rows Removed by Filter', 'Rows Removed by Index Recheck'] as const

/** Rows that scans read, whether they were kept or not. */
const rowsRead = (found: Plan[]): number =>
  found
    .filter((node) => /(?<!Subquery )Scan/.test(node['Node Type']))
    .flatMap((node) => ROW_COUNTS.map((name) => (node[name] ?? 0) * (node['Actual Loops'] ?? 1)))
    .reduce((sum, rows) => sum + rows, 0)

async function assertReads(most: number, plansOf: () => Promise<Plan[]>): Promise<void> {
  // A named statement gets another plan after its fifth run.
  for (let run = 1; run <= 7; run += 1) {
    const found = await plansOf()
    const rows = rowsRead(found)
    assert.ok(found.length > 0)
    assert.ok(rows <= most, `${rows} rows: ${JSON.stringify(found)}`)
  }
}

describe('the plan of a list, with tables of tens of thousands of rows', () => {
  const now = new Date('2026-11-20T12:00:00Z')
  const [old, busy] = ['ven_old', 'ven_busy']
  const replaced = newClientId()
  const explained = forBlock(explainedDatabase)
  let db: Knex
  let plansOf: (work: () => Promise<unknown>) => Promise<Plan[]>

  before(async () => {
    ;({ db, plansOf } = explained)
    await fill()
    await explained.explain()
  })

  const insertRows = (rows: string, values: readonly unknown[] = [], count = ROWS) =>
    db.raw(`insert into ${rows} from generate_series(1, ?::int) as n`, [...values, count] as never)

  /** The entries of the old company are all older than those of the busy one. */
  async function fill(): Promise<void> {
    await db.raw('set session_replication_role = replica')
    await db.raw(
      `insert into companies (vendor_id, name, timezone, currency)
       select id, id, 'UTC', 'EUR' from unnest(?::text[]) as id`,
      [[old, busy]],
    )
    await insertRows(
      `users (user_id, email, name, password_hash)
       select 'usr_' || n, n || '@people.example', 'Someone', '$argon2id$none'`,
      [],
      USERS,
    )
    await insertRows(
      `memberships select case when n <= ? then ? else 'ven_' || n end, 'usr_' || n,
         case when n = 1 then 'owner' else 'member' end`,
      [PEOPLE_MAX, busy],
      USERS,
    )
    for (const vendorId of [old, busy])
      await insertRows(
        `activity (vendor_id, user_id, action, subject, detail, at)
         select ?, case when n % 2 = 0 then 'usr_49999' when n < 10000 then 'usr_3' end,
           case when n % 2 = 0 then 'callback.saved' else 'person.invited' end, 'subject ' || n % 2,
           jsonb_build_object('email', n || '@people.example'), ?::timestamptz + n * interval '1 minute'`,
        [vendorId, vendorId === old ? '2025-01-01Z' : '2026-01-01Z'],
      )
    await insertRows(
      `oauth_clients
         (client_id, vendor_id, name, scopes, secret_hash, status,
           revoked_at, replaces, secret_found_at, created_at, created_by)
       select 'cli_' || lpad(n::text, 22, '0'), ?, 'n', array['boost:read'], sha256(n::text::bytea),
         case when n > 3 then 'Revoked' else 'Active' end,
         case when n > 3 then now() - interval '2 days' end, case when n > 3 then ? end,
         case when n < 60 then now() end, ?::timestamptz + n * interval '1 minute',
         case when n > 10000 then 'usr_3' when n % 200 = 1 then 'usr_4' else 'usr_5' end`,
      [busy, replaced, '2026-01-01Z'],
    )
    await db.raw(
      `insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
       values (?, ?, 'n', array['boost:read'], sha256('x'))`,
      [replaced, busy],
    )
    await insertRows(
      `sessions (token_hash, user_id, created_at, expires_at, last_seen_at, address, user_agent)
       select sha256(n::text::bytea), 'usr_1', ?::timestamptz - n * interval '1 second',
         ?::timestamptz + interval '1 hour', ?, '', ''`,
      [now, now, now],
    )
    await insertRows(
      `revoked_tokens (jti, client_id, expires_at) select 'jti ' || n, ?, now() - interval '1 hour'`,
      [replaced],
    )
    await insertRows(
      `invitations select 'usr_i' || n, ?, n || '@i.example', 'n', 'member', 'usr_1', now(), now()`,
      [old],
    )
    await insertRows(`invitation_links select sha256(n::text::bytea), 'usr_i' || n`)
    for (const [table, columns] of Object.entries(OF_EACH_CLIENT))
      await insertRows(`${table} select 'cli_' || lpad(n::text, 22, '0'), ${columns}`)
    await db.raw(
      `insert into client_address_usage
       select ?, current_date - day, '198.51.100.' || n, 1, now(), now()
       from generate_series(1, 90) as day, generate_series(1, 200) as n`,
      [page.at(-1) as string],
    )
    await insertRows(
      `workload_issuers select 'ven_' || n, 'https://idp.example', 'issuer', '[{}]', now(), now()`,
    )
    await insertRows(`client_creation_keys select ?, 'usr_1', n, sha256('x'), ?, now()`, [busy, replaced])
    await insertRows(`password_resets select sha256(n::text::bytea), 'usr_1', now(), now()`)
    await insertRows(
      `mails (kind, topic, vendor_id, detail, is_urgent, created_at, turn_at)
       select 'invitation', n, ?, '{}', false, now() - interval '300 days' + n * interval '1 second',
         now() - interval '1 day'`,
      [busy],
    )
    // Browsers that are known for longer than addresses, and older than any of those.
    await insertRows(
      `sign_in_addresses
       select 'usr_1', case when n % 2 = 0 then 'browser:' else '' end || n,
         now() - case when n % 2 = 0 then interval '200 days' else interval '0' end`,
    )
    await insertRows(`analytics_event_ids select ?, n::text, current_date - 40`, [busy])
    await insertRows(
      `analytics_events_default
       select ?, n::text, 'click', now(), now(), now() - interval '100 days', 1`,
      [busy],
    )
    // What is deleted from here on takes what refers to it along.
    await db.raw('set session_replication_role = origin')
    await db.raw('analyze')
    // Plans for larger tables. At this size a whole table may cost less than a few index pages.
    await db.raw('set random_page_cost = 1.5')
  }

  const activity =
    (vendorId: string, filter: object = {}, after?: [string, number]) =>
    () =>
      listActivity(db, { vendorId, after, limit: LIMIT, ...filter })
  const clients = (filter: object) => () =>
    listClients(db, { vendorId: busy, status: undefined, after: undefined, limit: LIMIT, ...filter })
  const stores = () => ({ db, clock: systemClock }) as UsageStores
  const page = Array.from({ length: LIMIT }, (_, n) => `cli_${String(n + 1).padStart(22, '0')}`) as [string]
  const refusedPage = () =>
    page.map((clientId) => ({ clientId, after_ms: 0, addresses: ['198.51.100.7', '203.0.113.9'] }))
  const callbacks = { userId: 'usr_49999', action: 'callback.saved' }
  const ofOperators = { ...callbacks, userId: null }
  const aDay = { from: new Date('2025-01-20Z'), to: new Date('2025-01-21Z') }
  const sinceADay = { ...ofOperators, from: new Date('2026-02-03Z') }
  const mine = { userId: 'usr_1', now, after: undefined }
  const link = { userId: 'usr_2', requestedAt: now, now }
  const notice = () => ({ vendorId: busy, topic: randomUUID(), detail: { clients: [] } })
  const lists: [name: string, work: () => Promise<unknown>, more?: number][] = [
    ['the activity', activity(busy)],
    ['the activity of a company without recent entries', activity(old)],
    ['a later page of the activity', activity(busy, {}, ['2026-02-01T00:00:00Z', 1])],
    ['the activity of a person', activity(old, { userId: 'usr_49999' })],
    ['the activity of a person who did nothing', activity(busy, { userId: 'usr_2' })],
    ['the activity of a person who did much long ago', activity(busy, { userId: 'usr_3' })],
    ['the activity of operators', activity(old, { userId: null })],
    ['the activity of a kind', activity(old, { action: 'callback.saved' })],
    ['the activity about a client', activity(busy, { subject: 'subject 3' })],
    ['the activity of a person and a kind', activity(old, callbacks), LOOKED_AT_MAX],
    ['the activity of someone and a kind they never did', activity(busy, ofOperators), LOOKED_AT_MAX],
    ['the activity of a day', activity(old, aDay)],
    ['the activity since a day', activity(busy, sinceADay), LOOKED_AT_MAX],
    ['the address of who was removed', () => wasRemoved(db, { vendorId: busy, email: 'a@people.example' })],
    ['clients', clients({})],
    ['Active clients', clients({ status: 'Active' })],
    ['Revoked clients', clients({ status: 'Revoked' })],
    ['clients whose secret was found', clients({ secretFound: true })],
    ['Active clients whose secret was found', clients({ secretFound: true, status: 'Active' })],
    ...['usr_2', 'usr_3', 'usr_4'].flatMap((createdBy) =>
      [{}, { status: 'Active' }, { status: 'Revoked' }, { secretFound: true }]
        .map((filter) => ({ createdBy, ...filter }))
        .map((filter): (typeof lists)[0] => [`clients with ${JSON.stringify(filter)}`, clients(filter)]),
    ),
    ['a client that many replaced', () => findClient(db, { vendorId: busy, clientId: replaced })],
    ['sessions', () => listSessions(db, { ...mine, idle_ms: 3_600_000, limit: LIMIT })],
    ['people', () => listMembers(db, busy), 2 * PEOPLE_MAX],
    ['the accounts of an address', () => listAccounts(db, '7@people.example')],
    ['the companies of a person', () => listMemberships(db, 'usr_1')],
    ['the usage of a page of clients', () => readUsageSummaries(stores(), page)],
    // And the list of addresses to look for.
    ['clients refused where they got tokens', () => readHistories(stores(), refusedPage()), 2 * LIMIT],
    ['the usage of a client', () => readUsageHistory(stores(), page[0])],
    ['what was seen of a client in a rotation', () => readUses(db, page[0])],
    ['the issuers of workloads', () => listIssuers(db, 'ven_1')],
    ['invitations', () => listInvitations(db, { vendorId: busy, now })],
    ['the record of a client that asks for a token', () => readClientCredentials(db, [replaced])],
    ['whether a token is revoked', () => readStandings(db, [{ clientId: replaced, jti: 'jti 1', kid: 'k' }])],
    ['what a round of the reconciler reads', () => readRecentRevocations(db, 3_600_000)],
    ['the page of what is revoked', () => readPublishedRevocations(db, new Date())],
    ['a link to set a password', () => insertPasswordReset(db, { ...link, tokenHash: randomBytes(32) })],
    ['the mails that are due', () => claimMails(db, { sender: randomUUID(), limit: LIMIT })],
    ['a notice to managers', () => mailManagers(db, 'clients_expire', [notice()]), PEOPLE_MAX],
  ]
  const purges = [
    ...listPurges({ EVENT_RETENTION_DAYS: 90, EVENT_IDS_REMEMBERED_DAYS: 35 }, silentLog()),
    REVOKED_TOKEN_PURGE,
  ]
  const soon = new Date(Date.now() + 2 * 3_600_000)
  // It runs once, since each run deletes rows.
  for (const { kind, deleteRows } of purges)
    it(`reads no more than what it deletes to purge ${kind}`, async () => {
      const rows = rowsRead(await plansOf(() => deleteRows(db, { before: soon, limit: LIMIT })))
      assert.ok(rows <= PAGE_ROWS_MAX, `${rows} rows`)
    })

  it('reads a row of each table to say what should be gone', async () => {
    const rows = rowsRead(await plansOf(() => readOverdue(db, { now_ms: Date.now(), purges })))
    assert.ok(rows <= 3 * purges.length, `${rows} rows`)
  })

  it('looks among the erasures alone for those of a page of the activity', async () => {
    const found = await plansOf(() => db.raw('select erase_from_activity(0, ?)', [LIMIT]))
    assert.ok(found.some((node) => node['Index Name'] === 'activity_of_erasures'))
  })

  for (const [name, work, more = 0] of lists)
    it(`reads no more than a page for ${name}`, () => assertReads(PAGE_ROWS_MAX + more, () => plansOf(work)))
})

describe('the plan of a search among Active clients of which none matches', () => {
  const explained = forBlock(explainedDatabase)
  const hours = (ahead: number) => new Date(Date.now() + ahead * 3_600_000)
  const page = { after: '', limit: LIMIT }
  const quiet = { ...page, quietSince: hours(-168), now: new Date() }
  const expiring = { ...page, windows: [[hours(24), hours(72)]] as [[Date, Date]] }
  const refused = { ...page, refusedSince: hours(-6), lastUsed: [hours(-168), hours(1)] as [Date, Date] }

  before(async () => {
    const { db } = explained
    await db.raw('set session_replication_role = replica')
    for (const rows of [
      `companies (vendor_id, name, timezone, currency) select 'ven_' || n, 'n', 'UTC', 'EUR'`,
      `oauth_clients
         (client_id, vendor_id, name, scopes, workload_issuer, workload_claims, expires_at, replaces)
       select 'cli_' || lpad(n::text, 22, '0'), 'ven_' || n, 'n', array['boost:read'],
         'https://idp.example', '{"sub": "a"}', now() + n * interval '1 hour',
         case when n % 2 = 0 then 'cli_none' || n end`,
      ...Object.entries(OF_EACH_CLIENT).map(
        ([table, columns]) => `${table} select 'cli_' || lpad(n::text, 22, '0'), ${columns}`,
      ),
      `workload_issuers select 'ven_' || n, 'https://idp.example', 'issuer', '[{}]', now(), now()`,
    ])
      await db.raw(`insert into ${rows} from generate_series(1, ?::int) as n`, [ROWS])
    await db.raw('analyze')
    await db.raw('set random_page_cost = 1.5')
    await explained.explain()
  })

  for (const [name, search, most] of [
    ['expiring clients', (db) => listExpiringClients(db, expiring), 300],
    ['clients that fail', (db) => listSuspectedClients(db, refused), 0],
    ['issuers that fail', (db) => listFailingIssuers(db, { ...page, before: hours(1), after: undefined }), 0],
    ['found secrets', (db) => markFoundSecrets(db, [{ secretHash: Buffer.alloc(32), source: null }]), 1],
    // Each Active replacement, once, since no index knows which client is replaced.
    ['quiet clients', (db) => listQuietClients(db, quiet), 2 * ROWS],
  ] as [string, (db: Knex) => Promise<unknown>, number][])
    it(`reads at most ${most} rows for ${name}`, () =>
      assertReads(most, () => explained.plansOf(() => search(explained.db))))
})
