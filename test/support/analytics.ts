import type { Knex } from 'knex'

/** A day as it is stored, by column; sums as text, so that none is rounded on the way. */
type StoredDay = Record<string, string>

const asText = (row: object): StoredDay =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Date ? value.toISOString() : String(value),
    ]),
  )

/** Gives companies whose days a test wrote itself a new revision, as `store_analytics_events` does. */
export const reviseDays = (db: Knex, ...vendorIds: string[]) =>
  db.raw(
    `insert into analytics_revisions (vendor_id, revision)
     select id, gen_random_uuid() from unnest(?::text[]) as id
     on conflict (vendor_id) do update set revision = excluded.revision`,
    [vendorIds],
  )

/** The company's rows of analytics_daily, oldest first. */
export async function storedDays(db: Knex, vendorId: string): Promise<StoredDay[]> {
  const { rows } = await db.raw(
    `select date::text, impressions, clicks, orders, units_sold, revenue_minor, boost_spend_minor,
       last_event_at
     from analytics_daily where vendor_id = ? order by date`,
    [vendorId],
  )
  return rows.map(asText)
}

/** What these rows should be: Postgres counts the stored events anew, by its own idea of their days. */
export async function recount(db: Knex, vendorId: string): Promise<StoredDay[]> {
  const { rows } = await db.raw(
    `select (e.occurred_at at time zone c.timezone)::date::text as date,
       coalesce(sum(quantity) filter (where type = 'impression'), 0) as impressions,
       coalesce(sum(quantity) filter (where type = 'click'), 0) as clicks,
       count(*) filter (where type = 'order') as orders,
       coalesce(sum(quantity) filter (where type = 'order'), 0) as units_sold,
       coalesce(sum(amount_minor) filter (where type = 'order'), 0) as revenue_minor,
       coalesce(sum(amount_minor) filter (where type = 'boost_spend'), 0) as boost_spend_minor,
       max(e.occurred_at) as last_event_at
     from analytics_events e join companies c using (vendor_id) where vendor_id = ? group by 1 order by 1`,
    [vendorId],
  )
  return rows.map(asText)
}
