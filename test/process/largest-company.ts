import type { Knex } from 'knex'
import { newClientId, newUserId } from '../../apps/api/accounts/new-ids.ts'
import { PEOPLE_MAX } from '../../apps/api/accounts/people.ts'
import { reviseDays } from '../support/analytics.ts'
import type { TestApi } from '../support/api.ts'
import { createTestUsage } from '../support/client-usage.ts'

export const DAYS = 366
const ACTIVE = 100
const REVOKED = 1_000
const REFUSALS_EACH = 200
const UNPROVEN_EACH = 50
const CLIENTS_PER_FLUSH = 20
const HOURS_OF_USAGE = 14 * 24
const ADDRESSES = 20
const ENTRIES = 100_000
const SESSIONS = 500
const COMPANIES_OF_OWNER = 200

export type LargestCompany = Awaited<ReturnType<typeof fillLargestCompany>>

/**
 * Fills a company with all that its limits allow, and its owner with sessions and other companies: clients
 * with two weeks of usage and as many refused requests as are kept, people, days of figures, activity.
 * Returns ids in it to ask for: the company's, the Active clients' and that of a refused request.
 */
export async function fillLargestCompany(
  server: Pick<TestApi, 'db' | 'redis' | 'clock'>,
  { vendorId, userId }: { vendorId: string; userId: string },
) {
  const clientIds = Array.from({ length: ACTIVE }, newClientId)
  const revokedIds = Array.from({ length: REVOKED }, newClientId)
  const { db } = server
  await db.raw(
    `insert into oauth_clients
       (client_id, vendor_id, name, scopes, secret_hash, created_by, status, revoked_at, revoked_by)
     select id, ?, repeat('n', 100), array['catalog:write', 'analytics:read', 'boost:read', 'analytics:write', 'boost:write'],
       sha256(id::bytea), ?, case when n > ? then 'Revoked' else 'Active' end, case when n > ? then now() end,
       case when n > ? then ? end
     from unnest(?::text[]) with ordinality as ids (id, n)`,
    [vendorId, userId, ACTIVE, ACTIVE, ACTIVE, userId, [...clientIds, ...revokedIds]],
  )
  await addUsage(db, vendorId)
  await addPeople(db, vendorId, userId)
  await addHistory(db, vendorId, userId)
  await db.raw('analyze')
  // The newest refusals are the Active clients', as the revoked ones stopped some time ago.
  const requestId = await addRefusals(server, vendorId, [...revokedIds, ...clientIds])
  return { vendorId, clientIds, requestId }
}

async function addUsage(db: Knex, vendorId: string): Promise<void> {
  for (const insert of [
    `client_usage select client_id, now(), now(), null,
       (select jsonb_object_agg(scope, now()) from unnest(scopes) as scope) from oauth_clients`,
    `client_usage_hourly select client_id, date_trunc('hour', now()) - n * interval '1 hour', 60, 1
     from oauth_clients, generate_series(0, ${HOURS_OF_USAGE}) as n`,
    `client_usage_by_minute select client_id, date_trunc('minute', now()) - n * interval '1 minute', 1, 1
     from oauth_clients, generate_series(0, 60) as n`,
    `client_address_usage select client_id, now(), '2001:db8:0:' || n || '::/64', 5, now(), now()
     from oauth_clients, generate_series(1, ${ADDRESSES}) as n`,
  ])
    await db.raw(`insert into ${insert} where vendor_id = ?`, [vendorId])
}

/** Adds as many people as a company may have, a quarter of them only invited. */
async function addPeople(db: Knex, vendorId: string, userId: string): Promise<void> {
  const ids = Array.from({ length: PEOPLE_MAX - 1 }, newUserId)
  const members = ids.slice(0, (PEOPLE_MAX * 3) / 4)
  await db.raw(
    `insert into users (user_id, email, name, password_hash)
     select id, lower(id) || '@people.example', repeat('n', 100), '$argon2id$none' from unnest(?::text[]) as id`,
    [members],
  )
  await db.raw(`insert into memberships select ?, id, 'admin' from unnest(?::text[]) as id`, [
    vendorId,
    members,
  ])
  await db.raw(
    `insert into invitations
     select id, ?, lower(id) || '@people.example', repeat('n', 100), 'admin', ?,
       now(), now() + interval '3 days'
     from unnest(?::text[]) as id`,
    [vendorId, userId, ids.slice(members.length)],
  )
}

/** Adds days of figures, activity, and the owner's sessions and other companies. */
async function addHistory(db: Knex, vendorId: string, userId: string): Promise<void> {
  // Leaves room for another day's events.
  const most = Number.MAX_SAFE_INTEGER - 1e12
  await db.raw(
    `insert into analytics_daily (vendor_id, date, impressions, clicks, orders, units_sold, revenue_minor,
       boost_spend_minor, last_event_at)
     select :vendorId, now()::date + 1 - n, :most, :most, :most, :most, :most, :most, now()
     from generate_series(0, :days ::int) as n
     on conflict (vendor_id, date) do nothing`,
    { vendorId, most, days: DAYS },
  )
  await reviseDays(db, vendorId)
  await db.raw(
    `insert into activity (vendor_id, user_id, action, subject, detail)
     select ?, ?, 'person.changed', 'subject ' || n, jsonb_build_object('name', repeat('n', 100), 'email', repeat('e', 200))
     from generate_series(1, ?::int) as n`,
    [vendorId, userId, ENTRIES],
  )
  await db.raw(
    `insert into sessions (token_hash, user_id, created_at, expires_at, last_seen_at, address, user_agent)
     select sha256((? || n)::bytea), ?, now() - n * interval '1 second', now() + interval '11 hours', now(),
       '2001:db8::1', repeat('u', 200)
     from generate_series(1, ?::int) as n`,
    [userId, userId, SESSIONS],
  )
  await db.raw(
    `with made as (
       insert into companies (vendor_id, name, timezone, currency)
       select ? || 'x' || n, repeat('n', 100), 'UTC', 'EUR' from generate_series(1, ?::int) as n returning vendor_id)
     insert into memberships select vendor_id, ?, 'owner' from made`,
    [vendorId, COMPANIES_OF_OWNER, userId],
  )
}

async function addRefusals(
  { db, redis, clock }: Pick<TestApi, 'db' | 'redis' | 'clock'>,
  vendorId: string,
  clientIds: readonly string[],
): Promise<string> {
  let at_ms = clock.now() - clientIds.length * (REFUSALS_EACH + UNPROVEN_EACH)
  // Unlike a service's connection it gives up no command, so nothing is lost.
  const usage = createTestUsage(await redis.connect('auth'), db, { now: () => at_ms })
  const refused = {
    vendorId,
    route: 'GET /v1/analytics/{vendorId}/daily',
    address: '2001:db8:1234:5678:9abc:def0:1234:5678',
    status: 422,
    code: 'invalid_input',
  }
  const details = { reason: 'invalid_input', about: '?from must be a date, YYYY-MM-DD.; '.repeat(3) }
  let requestId = ''
  for (const [index, clientId] of clientIds.entries()) {
    for (let n = 0; n < REFUSALS_EACH + UNPROVEN_EACH; n += 1) {
      at_ms += 1
      requestId = crypto.randomUUID()
      usage.recordRequest({ ...refused, ...details, clientId, requestId, proven: n >= UNPROVEN_EACH })
    }
    if (index % CLIENTS_PER_FLUSH === CLIENTS_PER_FLUSH - 1) await usage.flush()
  }
  await usage.flush()
  return requestId
}
