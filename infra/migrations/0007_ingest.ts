import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- No query of the services or of the operator's command looks for events by their day.
    drop index analytics_events_by_day;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('create index analytics_events_by_day on analytics_events (vendor_id, date)')
}
