import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- One destination a company. It is replaced, never removed.
    create table callback_destinations (
      vendor_id    text primary key references companies,
      callback_url text not null check (callback_url like 'https://%' and octet_length(callback_url) <= 2048),
      verified     boolean not null,
      updated_at   timestamptz not null,
      updated_by   text not null references users,
      -- A test event is being sent until then; null when its end was noted.
      test_until   timestamptz
    );
    grant select, insert, update on callback_destinations to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('drop table callback_destinations')
}
