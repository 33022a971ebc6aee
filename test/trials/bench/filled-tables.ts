import type { Knex } from 'knex'
import { addClientsOfMany, addCompanies, analyze } from './fixtures.ts'
import type { World } from './world.ts'

const COMPANIES = 2_000
const DAYS = 100
const CLIENTS = 20_000
const HOURS_OF_USAGE = 10
const PEOPLE = 20_000
const ENTRIES_EACH = 10
const ROWS = 20_000

const filled = new WeakSet<World>()

/**
 * Fills every table that grows, of companies and people whom nobody asks about: so much that reading a whole table
 * would show in a figure, and that Postgres would not plan it, as it does for a table of a few rows. Nothing of it is
 * due for removal soon.
 */
export async function fillTables(world: World): Promise<void> {
  if (filled.has(world)) return
  filled.add(world)
  const { db } = world
  await addCompanies(db, COMPANIES, DAYS)
  await addClientsOfMany(db, CLIENTS)
  for (const add of [addUsage, addPeople, addTheirs, addRevokedTokens, addEvents]) await add(db)
  await analyze(db)
}

/** As if every client had been used in each of the last hours. */
async function addUsage(db: Knex): Promise<void> {
  await db.raw(
    'insert into client_usage select client_id, now(), now() from oauth_clients limit ? on conflict do nothing',
    [CLIENTS],
  )
  await db.raw(
    `insert into client_usage_hourly
     select client_id, date_trunc('hour', now()) - n * interval '1 hour', 60
     from client_usage, generate_series(0, ?::int - 1) as n on conflict do nothing`,
    [HOURS_OF_USAGE],
  )
}

async function addPeople(db: Knex): Promise<void> {
  await db.raw(
    `with added as (
       insert into users (user_id, email, name, password_hash)
       select 'usr_' || id, id || '@bench.example', 'Somebody', '$argon2id$none'
       from (select replace(gen_random_uuid()::text, '-', '') as id from generate_series(1, ?::int)) as ids
       returning user_id
     ), member as (
       insert into memberships (vendor_id, user_id, role)
       select (select min(vendor_id) from companies), user_id, 'member' from added
     )
     insert into sessions (token_hash, user_id, created_at, expires_at)
     select sha256(user_id::bytea), user_id, now(), now() + interval '12 hours' from added`,
    [PEOPLE],
  )
}

/** What companies leave behind: their activity, callback destinations and requests to create clients. */
async function addTheirs(db: Knex): Promise<void> {
  await db.raw(
    `insert into activity (vendor_id, action, subject)
     select vendor_id, 'client.created', 'bench' from companies, generate_series(1, ?::int)`,
    [ENTRIES_EACH],
  )
  await db.raw(
    `insert into callback_destinations
     select vendor_id, 'https://bench.example', true, now(), (select min(user_id) from users) from companies`,
  )
  await db.raw(
    `insert into client_creation_keys
     select vendor_id, (select min(user_id) from users), client_id, sha256(''), client_id, now()
     from oauth_clients limit ?`,
    [ROWS],
  )
}

/** Expired, so that nobody has to know of them any more. */
async function addRevokedTokens(db: Knex): Promise<void> {
  await db.raw(
    `insert into revoked_tokens
     select gen_random_uuid()::text, (select min(client_id) from oauth_clients), now(), now() - interval '20 minutes'
     from generate_series(1, ?::int)`,
    [ROWS],
  )
}

async function addEvents(db: Knex): Promise<void> {
  await db.raw(
    `with ids as (
       insert into analytics_event_ids (vendor_id, event_id)
       select (select min(vendor_id) from companies), gen_random_uuid()::text from generate_series(1, ?::int)
       returning vendor_id, event_id
     )
     insert into analytics_events (vendor_id, event_id, type, date, occurred_at, quantity)
     select vendor_id, event_id, 'click', current_date, now(), 1 from ids`,
    [ROWS],
  )
}
