import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- When a client got tokens on a day (UTC), to the minute; the hourly counts end after two weeks.
    create table client_usage_daily (
      client_id     text not null references oauth_clients,
      day           date not null,
      first_used_at timestamptz not null,
      last_used_at  timestamptz not null check (last_used_at >= first_used_at),
      -- the longest time without a token that ended on this day, in seconds; it may have begun days before
      longest_gap_s integer not null check (longest_gap_s >= 0),
      primary key (client_id, day)
    );
    create index client_usage_daily_by_day on client_usage_daily (day);
    insert into client_usage_daily
      select client_id, (hour at time zone 'UTC')::date, min(hour), max(hour) + interval '1 hour',
        -- from the beginning of an hour to the end of the next one with a token: the longest that it can have been
        coalesce(max(extract(epoch from hour - before)::integer + 3600), 0)
      from (select client_id, hour, lag(hour) over (partition by client_id order by hour) as before
            from client_usage_hourly where tokens > 0) as uses
      group by 1, 2;

    alter table client_address_usage
      -- null: not known, since the address has not been seen since this column was added
      add column first_seen_at timestamptz,
      add column longest_gap_s integer not null default 0 check (longest_gap_s >= 0);

    create table client_rotation (
      client_id          text primary key references oauth_clients,
      -- when the secret of this client was no longer shown to the person who created it
      secret_put_away_at timestamptz,
      -- since when this client is to be revoked once its next expected use has passed without it, and for whom
      armed_at           timestamptz,
      armed_by           text references users,
      check ((armed_at is null) = (armed_by is null))
    );
    create index client_rotation_armed on client_rotation (armed_at) where armed_at is not null;

    grant select, insert, update, delete on client_usage_daily to integration_api;
    grant select, insert, update on client_rotation to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop table client_rotation, client_usage_daily;
    alter table client_address_usage drop column first_seen_at, drop column longest_gap_s;
  `)
}
