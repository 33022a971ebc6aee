import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- A day without a row was never reported. Every sum fits a JavaScript number exactly.
    create table analytics_daily (
      vendor_id         text not null references companies,
      date              date not null,
      impressions       bigint not null default 0 check (impressions between 0 and 9007199254740991),
      clicks            bigint not null default 0 check (clicks between 0 and 9007199254740991),
      orders            bigint not null default 0 check (orders between 0 and 9007199254740991),
      units_sold        bigint not null default 0 check (units_sold between 0 and 9007199254740991),
      revenue_minor     bigint not null default 0 check (revenue_minor between 0 and 9007199254740991),
      boost_spend_minor bigint not null default 0 check (boost_spend_minor between 0 and 9007199254740991),
      -- the newest event of the day, in the company's time zone
      last_event_at     timestamptz not null,
      primary key (vendor_id, date)
    );
    grant select, insert, update on analytics_daily to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('drop table analytics_daily')
}
