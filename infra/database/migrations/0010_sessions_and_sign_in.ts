import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table sessions
      -- names a session to its user; it cannot be used in place of the token
      add column session_id   text not null default 'sid_' || replace(gen_random_uuid()::text, '-', '') unique,
      add column last_seen_at timestamptz not null default now(),
      add column address      text check (char_length(address) <= 60),
      add column user_agent   text check (char_length(user_agent) <= 200);
    grant update (last_seen_at) on sessions to integration_api;

    -- Addresses that somebody has lately signed in from: failures elsewhere must not lock that person out.
    create table sign_in_addresses (
      user_id text not null references users,
      address text not null check (char_length(address) <= 60),
      last_at timestamptz not null,
      primary key (user_id, address)
    );
    create index sign_in_addresses_by_time on sign_in_addresses (last_at);
    grant select, insert, update, delete on sign_in_addresses to integration_api;

    -- Turns an email address into the name under which failed sign-ins are logged. One row.
    create table account_log_key (
      only_row boolean primary key default true check (only_row),
      key      bytea not null default
        sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')) check (octet_length(key) = 32)
    );
    insert into account_log_key default values;
    grant select on account_log_key to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop table account_log_key, sign_in_addresses;
    alter table sessions drop column user_agent, drop column address, drop column last_seen_at, drop column session_id;
  `)
}
