import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table oauth_clients
      -- the secret's last four characters; null for a client from before they were kept
      add column secret_hint text check (secret_hint ~ '^[0-9A-Za-z]{4}$'),
      -- the client that this one takes over from
      add column replaces    text check (replaces <> client_id),
      add unique (vendor_id, client_id),
      add foreign key (vendor_id, replaces) references oauth_clients (vendor_id, client_id);
    create unique index one_active_replacement on oauth_clients (replaces)
      where replaces is not null and status = 'Active';
    create index oauth_clients_by_replaced on oauth_clients (replaces) where replaces is not null;

    -- A client never changes, but for its label and its one revocation, which nothing undoes.
    create or replace function oauth_client_only_revokes() returns trigger language plpgsql as $$
    begin
      if old.status = 'Revoked' and (new.status, new.revoked_at, new.revoked_by)
         is distinct from (old.status, old.revoked_at, old.revoked_by) then
        raise exception 'client % is revoked permanently', old.client_id using errcode = 'check_violation';
      end if;
      if (new.client_id, new.vendor_id, new.scopes, new.secret_hash, new.secret_hint, new.replaces,
          new.created_at, new.created_by)
         is distinct from
         (old.client_id, old.vendor_id, old.scopes, old.secret_hash, old.secret_hint, old.replaces,
          old.created_at, old.created_by) then
        raise exception 'client % can only be renamed or revoked', old.client_id using errcode = 'check_violation';
      end if;
      return new;
    end $$;
    grant select (secret_hint, replaces), update (name) on oauth_clients to integration_api;

    alter table client_usage_hourly add column refused bigint not null default 0 check (refused >= 0);
    create table client_usage_by_minute (
      client_id text not null references oauth_clients,
      minute    timestamptz not null,
      tokens    bigint not null check (tokens >= 0),
      refused   bigint not null check (refused >= 0),
      primary key (client_id, minute)
    );
    create index client_usage_by_minute_by_minute on client_usage_by_minute (minute);
    create table client_scope_usage (
      client_id    text not null references oauth_clients,
      scope        text not null check (char_length(scope) <= 60),
      last_used_at timestamptz not null,
      primary key (client_id, scope)
    );
    create table client_address_usage (
      client_id    text not null references oauth_clients,
      address      text not null check (char_length(address) <= 60),
      tokens       bigint not null check (tokens >= 0),
      last_seen_at timestamptz not null,
      primary key (client_id, address)
    );
    create index client_address_usage_by_time on client_address_usage (last_seen_at);
    grant select, insert, update, delete on client_usage_by_minute, client_address_usage to integration_api;
    grant select, insert, update on client_scope_usage to integration_api;

    create index activity_by_user on activity (vendor_id, user_id, entry_id);
    create index activity_by_action on activity (vendor_id, action, entry_id);
    create index activity_by_subject on activity (vendor_id, subject, entry_id);
    create index activity_by_time on activity (vendor_id, at);
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop index activity_by_user, activity_by_action, activity_by_subject, activity_by_time;
    drop table client_address_usage, client_scope_usage, client_usage_by_minute;
    alter table client_usage_hourly drop column refused;
    revoke update (name) on oauth_clients from integration_api;
    create or replace function oauth_client_only_revokes() returns trigger language plpgsql as $$
    begin
      if old.status = 'Revoked' then
        raise exception 'client % is revoked permanently', old.client_id using errcode = 'check_violation';
      end if;
      if (new.client_id, new.vendor_id, new.name, new.scopes, new.secret_hash, new.created_at, new.created_by)
         is distinct from
         (old.client_id, old.vendor_id, old.name, old.scopes, old.secret_hash, old.created_at, old.created_by) then
        raise exception 'client % can only be revoked', old.client_id using errcode = 'check_violation';
      end if;
      return new;
    end $$;
    drop index one_active_replacement, oauth_clients_by_replaced;
    alter table oauth_clients drop column replaces, drop column secret_hint,
      drop constraint oauth_clients_vendor_id_client_id_key;
  `)
}
