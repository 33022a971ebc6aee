import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table oauth_clients (
      client_id   text primary key check (client_id ~ '^cli_[A-Za-z0-9]{22}$'),
      vendor_id   text not null references companies,
      name        text not null check (char_length(name) between 1 and 100),
      scopes      text[] not null check (
        scopes <@ array['catalog:write', 'analytics:read', 'boost:read', 'analytics:write', 'boost:write']
        and array_position(scopes, null) is null
      ),
      secret_hash bytea not null check (octet_length(secret_hash) = 32),
      status      text not null default 'Active' check (status in ('Active', 'Revoked')),
      created_at  timestamptz not null default now(),
      created_by  text references users,
      revoked_at  timestamptz,
      revoked_by  text references users,
      check ((status = 'Revoked') = (revoked_at is not null)),
      check (revoked_by is null or revoked_at is not null)
    );
    create index oauth_clients_by_company on oauth_clients (vendor_id, created_at desc, client_id desc);
    create index oauth_clients_by_revocation on oauth_clients (revoked_at) where revoked_at is not null;

    -- A client never changes, but for its one revocation, which nothing undoes.
    create function oauth_client_only_revokes() returns trigger language plpgsql as $$
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
    create trigger oauth_client_only_revokes before update on oauth_clients
      for each row execute function oauth_client_only_revokes();

    -- The service says that a client is revoked; since when, the database says.
    create function stamp_client_revocation() returns trigger language plpgsql as $$
    begin
      new.revoked_at := clock_timestamp();
      return new;
    end $$;
    create trigger stamp_client_revocation before update on oauth_clients
      for each row when (new.status = 'Revoked' and new.revoked_at is null)
      execute function stamp_client_revocation();
    revoke execute on function oauth_client_only_revokes, stamp_client_revocation from public;

    create table revoked_tokens (
      jti        text primary key check (char_length(jti) between 1 and 100),
      client_id  text not null references oauth_clients,
      revoked_at timestamptz not null default clock_timestamp(),
      expires_at timestamptz not null
    );
    create index revoked_tokens_by_expiry on revoked_tokens (expires_at);

    -- Forgets at most max_rows revocations of tokens that expired over an hour ago.
    create function purge_expired_revoked_tokens(max_rows integer) returns integer
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    declare
      purged integer;
    begin
      delete from public.revoked_tokens where jti in (
        select jti from public.revoked_tokens where expires_at < now() - interval '1 hour'
        order by expires_at limit max_rows);
      get diagnostics purged = row_count;
      return purged;
    end $$;
    revoke execute on function purge_expired_revoked_tokens from public;

    create table signing_keys (
      kid                   text primary key,
      alg                   text not null check (alg in ('ES256', 'RS256')),
      public_jwk            jsonb not null,
      -- AES-256-GCM: 12 bytes of nonce, ciphertext, 16 bytes of tag
      private_key_encrypted bytea not null,
      created_at            timestamptz not null,
      -- Published from its creation on, signs from this time on until a newer key does. Null: it stands by.
      activates_at          timestamptz
    );
    -- Apart from signing_keys, so that the resource API can ask without being able to read keys.
    create table revoked_signing_keys (
      kid        text primary key references signing_keys,
      revoked_at timestamptz not null
    );
    create index revoked_signing_keys_by_time on revoked_signing_keys (revoked_at);

    -- The only Redis server whose marker may be believed. One row.
    create table revocation_trust (
      only_row boolean primary key default true check (only_row),
      run_id   text not null default '',
      -- when it was named: another value is another naming, whose time to settle begins anew
      since    timestamptz
    );
    insert into revocation_trust default values;

    create table client_creation_keys (
      vendor_id       text not null references companies,
      user_id         text not null references users,
      idempotency_key text not null check (char_length(idempotency_key) between 1 and 255),
      request_hash    bytea not null check (octet_length(request_hash) = 32),
      client_id       text not null references oauth_clients,
      created_at      timestamptz not null,
      primary key (vendor_id, user_id, idempotency_key)
    );
    create index client_creation_keys_by_time on client_creation_keys (created_at);

    create table client_usage (
      client_id    text primary key references oauth_clients,
      last_used_at timestamptz not null
    );
    create table client_usage_hourly (
      client_id text not null references oauth_clients,
      hour      timestamptz not null,
      tokens    bigint not null check (tokens >= 0),
      primary key (client_id, hour)
    );
    create index client_usage_hourly_by_hour on client_usage_hourly (hour);

    grant select (client_id, vendor_id, scopes, secret_hash, status) on oauth_clients to integration_auth;
    grant select, insert on signing_keys to integration_auth;
    grant select, insert (jti, client_id, expires_at) on revoked_tokens to integration_auth;
    grant select on revoked_signing_keys, revocation_trust to integration_auth;

    grant select (client_id, vendor_id, name, scopes, status, created_at, created_by, revoked_at, revoked_by), insert
      on oauth_clients to integration_api;
    grant update (status, revoked_by) on oauth_clients to integration_api;
    grant select on revoked_tokens to integration_api;
    grant execute on function purge_expired_revoked_tokens to integration_api;
    grant select on revoked_signing_keys to integration_api;
    grant select on revocation_trust to integration_api;
    grant update (run_id, since) on revocation_trust to integration_api;
    grant select, insert, update, delete on client_creation_keys, client_usage_hourly to integration_api;
    grant select, insert, update on client_usage to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop table client_usage_hourly, client_usage, client_creation_keys, revocation_trust, revoked_signing_keys,
      signing_keys, revoked_tokens, oauth_clients;
    drop function oauth_client_only_revokes, stamp_client_revocation, purge_expired_revoked_tokens;
  `)
}
