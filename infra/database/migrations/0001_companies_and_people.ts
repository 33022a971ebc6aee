import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Roles belong to the whole server, not to one database: another database's migration may have made them.
    do $$
    begin
      perform pg_advisory_xact_lock(hashtext('integration roles'));
      if not exists (select from pg_roles where rolname = 'integration_auth') then
        create role integration_auth nologin;
      end if;
      if not exists (select from pg_roles where rolname = 'integration_api') then
        create role integration_api nologin;
      end if;
    end $$;

    revoke all on schema public from public;
    grant usage on schema public to integration_auth, integration_api;

    create table companies (
      vendor_id  text primary key check (vendor_id ~ '^ven_[A-Za-z0-9]{1,60}$'),
      name       text not null check (char_length(name) between 1 and 200),
      timezone   text not null,
      currency   text not null check (currency ~ '^[A-Z]{3}$'),
      created_at timestamptz not null default now()
    );

    create table users (
      user_id       text primary key check (user_id ~ '^usr_[A-Za-z0-9]{1,60}$'),
      email         text not null check (email = lower(email) and char_length(email) between 3 and 254),
      name          text not null check (char_length(name) between 1 and 200),
      password_hash text not null check (password_hash like '$argon2id$%'),
      created_at    timestamptz not null default now(),
      unique (email)
    );

    create table memberships (
      vendor_id text not null references companies,
      user_id   text not null references users,
      role      text not null check (role in ('owner', 'admin', 'member')),
      status    text not null default 'active' check (status in ('active', 'suspended')),
      primary key (user_id, vendor_id),
      check (not (role = 'owner' and status = 'suspended'))
    );
    create unique index one_owner_per_company on memberships (vendor_id) where role = 'owner';
    create index memberships_by_company on memberships (vendor_id);

    create table sessions (
      token_hash bytea primary key check (octet_length(token_hash) = 32),
      user_id    text not null references users,
      created_at timestamptz not null,
      expires_at timestamptz not null
    );
    create index sessions_by_user on sessions (user_id);
    create index sessions_by_expiry on sessions (expires_at);

    create table activity (
      entry_id  bigint generated always as identity,
      vendor_id text not null references companies,
      -- null: an operator, by the admin command
      user_id   text references users,
      action    text not null check (char_length(action) between 1 and 60),
      subject   text not null,
      detail    jsonb not null default '{}',
      at        timestamptz not null default now(),
      primary key (vendor_id, entry_id)
    );

    grant select on companies, users, memberships to integration_api;
    grant select, insert, delete on sessions to integration_api;
    -- Append-only: there is no grant to change or remove an entry, nor to say when it was.
    grant select, insert (vendor_id, user_id, action, subject, detail) on activity to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('drop table activity, sessions, memberships, users, companies')
}
