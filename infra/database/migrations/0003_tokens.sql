create table revoked_tokens (
  jti        text primary key check (char_length(jti) between 1 and 100),
  -- null: the revocation was restored from Redis, which does not know whose token it is.
  client_id  text references oauth_clients,
  revoked_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index revoked_tokens_by_expiry on revoked_tokens (expires_at);
-- The page of revocations lists about 10,000 tokens at most (247 KiB of 512), so that there is room for
-- clients and keys, which can always be revoked. Each company may have as many on it as there is room for
-- more: the first can take half, the next half of what is left. Each can always have one.
create function leave_room_on_page() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  if (select count(*) filter (where client_id in (
        select client_id from oauth_clients where vendor_id =
          (select vendor_id from oauth_clients where client_id = new.client_id)))
        >= greatest(10000 - count(*), 1)
      from revoked_tokens where expires_at > now() - interval '5 minutes')
    and not exists (select from revoked_tokens where jti = new.jti)
  then
    raise exception 'the company has its share of the revocations page' using errcode = 'PAGE1';
  end if;
  return new;
end $$;
-- What is restored from Redis has no client, and is always stored.
create trigger leave_room_on_page before insert on revoked_tokens for each row
  when (new.client_id is not null) execute function leave_room_on_page();
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

create table signing_keys (
  kid                   text primary key,
  alg                   text not null check (alg in ('ES256', 'RS256')),
  public_jwk            jsonb not null,
  -- AES-256-GCM: 12 bytes of nonce, ciphertext, 16 bytes of tag
  private_key_encrypted bytea not null,
  created_at            timestamptz not null,
  -- It signs from this time on, until a newer key does. It is published before. null: it is on standby.
  activates_at          timestamptz
);
-- Apart from signing_keys, so that the resource API can ask without being able to read keys.
create table revoked_signing_keys (
  kid        text primary key references signing_keys,
  revoked_at timestamptz not null
);
create index revoked_signing_keys_by_time on revoked_signing_keys (revoked_at);

-- The only Redis server whose marker is trusted, and the database that may vouch for it. One row.
create table revocation_trust (
  only_row     boolean primary key default true check (only_row),
  run_id       text not null default '',
  -- when it was named; a new value restarts the time to settle
  since        timestamptz,
  -- where this database was when an operator, or its first migration, confirmed that it is complete
  place        text,
  confirmed_at timestamptz not null default clock_timestamp()
);
-- Identifies this database. A copy, or one restored from a dump or to a point in time, has another identity.
-- The last part is the timeline, which also changes when a standby is promoted. null on a standby.
create function database_place() returns text language sql stable as $$
  select case when not pg_catalog.pg_is_in_recovery() then
    pg_catalog.concat_ws('/', system_identifier,
      (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()),
      'public.revocation_trust'::pg_catalog.regclass::pg_catalog.oid,
      pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8)) end
  from pg_catalog.pg_control_system()
$$;
insert into revocation_trust (place) values (database_place());

-- While a fence is up, all access is refused: the database may have forgotten revocations.
create table restore_fences (
  raised_at  timestamptz primary key default clock_timestamp(),
  reason     text not null check (char_length(reason) between 1 and 300),
  lowered_at timestamptz
);
create unique index one_restore_fence on restore_fences ((true)) where lowered_at is null;

-- Services other than these two, which ask whether a token is live (RFC 7662). Only an operator writes here.
create table services (
  service_id  text primary key check (service_id ~ '^svc_[A-Za-z0-9]{22}$'),
  name        text not null check (char_length(name) between 1 and 100),
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  created_at  timestamptz not null default clock_timestamp(),
  revoked_at  timestamptz
);
-- Otherwise a role that may revoke a service could undo that, or change its date.
create function service_stays_revoked() returns trigger language plpgsql as $$
begin
  raise exception 'service % is revoked permanently', old.service_id using errcode = 'check_violation';
end $$;
create trigger service_stays_revoked before update on services for each row
  when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  execute function service_stays_revoked();
