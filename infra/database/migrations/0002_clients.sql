-- The claims that a platform's token must have, each with exactly this value: 1 to 8 of them, and none that
-- the server checks itself.
create function are_workload_claims(claims jsonb) returns boolean language sql immutable strict
set search_path = pg_catalog, pg_temp as $$
  select case when jsonb_typeof(claims) = 'object' then (
    select count(*) between 1 and 8 and bool_and(
      name ~ '^[A-Za-z0-9_.:/-]{1,64}$' and name not in ('iss', 'aud', 'exp', 'iat', 'nbf', 'jti')
      and jsonb_typeof(value) = 'string' and char_length(value #>> '{}') between 1 and 255
      and value #>> '{}' !~ '[[:cntrl:]]')
    from jsonb_each(claims) as claim (name, value)) else false end
$$;

create table oauth_clients (
  client_id           text primary key check (client_id ~ '^cli_[A-Za-z0-9]{22}$'),
  vendor_id           text not null references companies,
  name                text not null check (char_length(name) between 1 and 100),
  scopes              text[] not null check (
    scopes <@ array['catalog:write', 'analytics:read', 'boost:read', 'analytics:write', 'boost:write']
    and array_position(scopes, null) is null
  ),
  -- SHA-256. null: the client has a key, or a workload.
  secret_hash         bytea check (octet_length(secret_hash) = 32),
  -- the secret's last four characters
  secret_hint         text check (secret_hint ~ '^[0-9A-Za-z]{4}$'),
  -- The public JWK (RFC 7517) of a client that signs assertions (RFC 7523). It has no secret.
  public_key          jsonb check (
    jsonb_typeof(public_key) = 'object'
    and not jsonb_exists_any(public_key, array['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth'])
  ),
  -- RFC 7638, SHA-256
  key_thumbprint      text check (key_thumbprint ~ '^[0-9A-Za-z_-]{43}$'),
  -- The issuer whose tokens the client sends instead of a secret (RFC 7523), and the claims that identify it
  workload_issuer     text check (workload_issuer ~ '^https://[][a-z0-9._:-]+(/[!-"$->@-~]*|)$'
    and char_length(workload_issuer) <= 512),
  workload_claims     jsonb check (are_workload_claims(workload_claims)),
  -- whose claims its tokens have. null: those of any OpenID issuer
  workload_platform   text check (
    workload_platform in ('github', 'gitlab', 'buildkite', 'circleci', 'bitbucket')
  ),
  -- It gets no tokens from this time on. null: it does not expire
  expires_at          timestamptz check (isfinite(expires_at) and expires_at > created_at),
  -- the client that this one takes over from
  replaces            text check (replaces <> client_id),
  status              text not null default 'Active' check (status in ('Active', 'Revoked')),
  created_at          timestamptz not null default now(),
  created_by          text references users,
  revoked_at          timestamptz,
  revoked_by          text references users,
  -- When someone reported the client's secret. It decides nothing: only revoking ends access.
  secret_found_at     timestamptz,
  -- Where it was found, in the finder's words: ASCII, and without a secret. null: unknown
  secret_found_source text check (
    char_length(secret_found_source) between 1 and 200
    and secret_found_source ~ '^[ -~]+$'
    and secret_found_source !~* '(ias|ses|inv)_[0-9a-z]{16}'
  ),
  unique (vendor_id, client_id),
  foreign key (vendor_id, replaces) references oauth_clients (vendor_id, client_id),
  check ((status = 'Revoked') = (revoked_at is not null)),
  check (revoked_by is null or revoked_at is not null),
  constraint oauth_clients_one_way check (num_nonnulls(secret_hash, public_key, workload_claims) = 1),
  constraint oauth_clients_key_named check ((public_key is null) = (key_thumbprint is null)),
  constraint oauth_clients_workload_whole check ((workload_issuer is null) = (workload_claims is null)
    and (workload_platform is null or workload_issuer is not null)),
  constraint oauth_clients_hint_of_secret check (secret_hint is null or secret_hash is not null),
  constraint oauth_clients_found_secret check (secret_found_at is null or secret_hash is not null),
  constraint oauth_clients_found_source check (secret_found_source is null or secret_found_at is not null)
);
create index oauth_clients_by_company on oauth_clients (vendor_id, created_at desc, client_id desc);
create index oauth_clients_by_status on oauth_clients (vendor_id, status, created_at desc, client_id desc);
create index oauth_clients_by_creator
  on oauth_clients (vendor_id, created_by, created_at desc, client_id desc);
create index oauth_clients_by_finding on oauth_clients (vendor_id, created_at desc, client_id desc)
  where secret_found_at is not null;
create index oauth_clients_found_and_active on oauth_clients (secret_found_at)
  where secret_found_at is not null and status = 'Active';
create index oauth_clients_by_revocation on oauth_clients (revoked_at) where revoked_at is not null;
create index oauth_clients_by_replaced on oauth_clients (replaces, status, created_at desc, client_id)
  where replaces is not null;
create unique index one_active_replacement on oauth_clients (replaces)
  where replaces is not null and status = 'Active';
create index oauth_clients_by_workload_issuer on oauth_clients (vendor_id, workload_issuer)
  where workload_issuer is not null and status = 'Active';
create index oauth_clients_by_expiry on oauth_clients (expires_at)
  where expires_at is not null and status = 'Active';
create index oauth_clients_by_secret on oauth_clients (secret_hash) where secret_hash is not null;
create trigger company_is_not_erased before insert on oauth_clients
  for each row execute function company_is_not_erased();

-- Only a client's name can change, and its status, once and permanently.
create function oauth_client_only_revokes() returns trigger language plpgsql as $$
begin
  if old.status = 'Revoked' and (new.status, new.revoked_at, new.revoked_by)
     is distinct from (old.status, old.revoked_at, old.revoked_by) then
    raise exception 'client % is revoked permanently', old.client_id using errcode = 'check_violation';
  end if;
  if (new.client_id, new.vendor_id, new.scopes, new.secret_hash, new.secret_hint, new.replaces,
      new.created_at, new.created_by, new.public_key, new.key_thumbprint, new.expires_at)
     is distinct from
     (old.client_id, old.vendor_id, old.scopes, old.secret_hash, old.secret_hint, old.replaces,
      old.created_at, old.created_by, old.public_key, old.key_thumbprint, old.expires_at) then
    raise exception 'client % can only be renamed or revoked', old.client_id
      using errcode = 'check_violation';
  end if;
  -- A client of an erased company keeps no more than that it was a workload.
  if (new.workload_issuer, new.workload_claims, new.workload_platform)
     is distinct from (old.workload_issuer, old.workload_claims, old.workload_platform)
     and (old.workload_issuer is null or new.status <> 'Revoked'
          or (new.workload_issuer, new.workload_claims, new.workload_platform)
            is distinct from ('https://erased.invalid', '{"sub": "erased"}'::jsonb, null::text)) then
    raise exception 'client % keeps its workload', old.client_id using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger oauth_client_only_revokes before update on oauth_clients
  for each row execute function oauth_client_only_revokes();

-- The service revokes a client. The database sets the time.
create function stamp_client_revocation() returns trigger language plpgsql as $$
begin
  new.revoked_at := clock_timestamp();
  return new;
end $$;
create trigger stamp_client_revocation before update on oauth_clients
  for each row when (new.status = 'Revoked' and new.revoked_at is null)
  execute function stamp_client_revocation();

-- A stranger's words about an erased company's client go. That the secret was found stays.
create function found_secret_stays_found() returns trigger language plpgsql as $$
begin
  if new.status = 'Revoked' and new.secret_found_at = old.secret_found_at
     and new.secret_found_source is null then
    return new;
  end if;
  raise exception 'the secret of client % is already marked as found', old.client_id
    using errcode = 'check_violation';
end $$;
create trigger found_secret_stays_found before update on oauth_clients for each row
  when (old.secret_found_at is not null and (new.secret_found_at, new.secret_found_source)
        is distinct from (old.secret_found_at, old.secret_found_source))
  execute function found_secret_stays_found();

-- Marks the Active clients that have these secrets and are not marked yet, and returns them. The API can
-- neither read a hash nor mark a client in any other way. It is one statement however many are found, and
-- locks rows in one order.
create function mark_found_secrets(hashes bytea[], sources text[])
  returns table (client_id text, vendor_id text, name text, source text, found_at timestamptz)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  with found as (
    select c.client_id, reported.source
    from unnest(hashes, sources) as reported (secret_hash, source)
      join public.oauth_clients c on c.secret_hash = reported.secret_hash
    where c.status = 'Active' and c.secret_found_at is null
    order by c.client_id
    for no key update of c
  )
  update public.oauth_clients c
  set secret_found_at = clock_timestamp(), secret_found_source = found.source
  from found where c.client_id = found.client_id
  returning c.client_id, c.vendor_id, c.name, c.secret_found_source, c.secret_found_at
$$;

-- The issuers of a company's workload tokens. Each company has its own row for an issuer, so that it cannot
-- give a key to another company's issuer. The keys are not refreshed once no Active client trusts the issuer.
create table workload_issuers (
  vendor_id    text not null references companies,
  issuer       text not null check (issuer ~ '^https://[][a-z0-9._:-]+(/[!-"$->@-~]*|)$'
    and char_length(issuer) <= 512),
  -- pasted: a person entered them, since the service cannot reach the issuer
  keys_from    text not null check (keys_from in ('issuer', 'pasted')),
  -- public JWKs
  keys         jsonb not null check (
    jsonb_typeof(keys) = 'array' and jsonb_array_length(keys) between 1 and 100
    and not jsonb_path_exists(keys, '$[*].d') and not jsonb_path_exists(keys, '$[*].k')
  ),
  keys_as_of   timestamptz not null,
  -- when they were last requested, and why that failed; null: it succeeded
  attempted_at timestamptz not null,
  failure      text check (char_length(failure) between 1 and 200),
  primary key (vendor_id, issuer)
);
create index workload_issuers_failing on workload_issuers (vendor_id, issuer) where failure is not null;

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

-- Written only by record_usage, which checks the client, so most tables do not check it again. Most rows are
-- updated often, so their pages have free space. Of most, the oldest are deleted all the time, and an index
-- whose end is full of deleted rows makes that slow, so they are vacuumed early.
create table client_usage (
  client_id       text primary key references oauth_clients,
  first_used_at   timestamptz not null,
  last_used_at    timestamptz not null check (last_used_at >= first_used_at),
  -- the longest time between two tokens, in seconds; null: it has got only one
  longest_quiet_s integer check (longest_quiet_s >= 0),
  -- when each scope was last in a token
  scopes          jsonb not null default '{}' check (jsonb_typeof(scopes) = 'object')
) with (fillfactor = 70);
create table client_usage_hourly (
  client_id text not null,
  hour      timestamptz not null,
  tokens    bigint not null check (tokens >= 0),
  refused   bigint not null default 0 check (refused >= 0),
  primary key (client_id, hour)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index client_usage_hourly_by_hour on client_usage_hourly (hour);
create index client_usage_hourly_refused on client_usage_hourly (hour) where refused > 0;
create table client_usage_by_minute (
  client_id text not null,
  minute    timestamptz not null,
  tokens    bigint not null check (tokens >= 0),
  refused   bigint not null check (refused >= 0),
  primary key (client_id, minute)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index client_usage_by_minute_by_minute on client_usage_by_minute (minute);
-- Tokens by address and day (UTC): for each client and day, of the first 200 addresses
create table client_address_usage (
  client_id     text not null,
  day           date not null,
  address       text not null check (char_length(address) <= 60),
  tokens        bigint not null check (tokens >= 0),
  first_seen_at timestamptz not null,
  last_seen_at  timestamptz not null check (last_seen_at >= first_seen_at),
  primary key (client_id, day, address)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index client_address_usage_by_day on client_address_usage (day);
-- One row for each process that counts uses. A process that ends with everything stored removes its row.
create table usage_writers (
  writer     uuid primary key,
  -- the last batch that was stored, so that none is counted twice
  batch      bigint not null,
  flushed_at timestamptz not null default clock_timestamp(),
  -- when it last had to drop uses
  lost_at    timestamptz,
  -- the service, since a role alone can be read-only
  role       name not null default session_user,
  -- when another of its role first wrote after this one had been silent for a minute
  missed_at  timestamptz
) with (fillfactor = 70);

-- Adds the uses that a process counted (shared/usage/usage-counts.ts). A use is a token with its scopes, or a
-- refused request without any. A process that gets no answer sends its batch again, so a batch that is
-- already stored adds nothing, and one that does not follow the last shows that Postgres lost those between.
-- Unknown clients, those of erased companies, and scopes that a client does not have are skipped. All callers
-- lock rows in one order, and the rows of client_usage before they count a client's addresses. Else two
-- callers could both use the last places of a day.
create function record_usage(writer_id uuid, batch_number bigint, uses jsonb, any_lost boolean, ends boolean)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  used public.client_address_usage[];
begin
  if jsonb_array_length(uses) > 1000 or pg_column_size(uses) > 1000000 then
    raise exception 'a batch of usage is too large' using errcode = 'program_limit_exceeded';
  end if;
  insert into public.usage_writers as w (writer, batch, lost_at)
    values (writer_id, 0, case when any_lost or batch_number > 1 then clock_timestamp() end)
    on conflict (writer) do update set flushed_at = excluded.flushed_at, missed_at = null,
      lost_at = case when any_lost or batch_number > w.batch + 1 then clock_timestamp() else w.lost_at end;
  -- Skips locked rows: two processes that mark each other would wait for each other.
  update public.usage_writers set missed_at = clock_timestamp() where writer in (
    select writer from public.usage_writers where missed_at is null and role = session_user
      and flushed_at < clock_timestamp() - interval '1 minute' for update skip locked);
  update public.usage_writers set batch = batch_number where writer = writer_id and batch < batch_number;
  if not found then return; end if;
  if ends then delete from public.usage_writers where writer = writer_id and lost_at is null; end if;
  if jsonb_array_length(uses) = 0 then return; end if;

  with uses as materialized (
    select c.client_id, c.scopes as own_scopes, to_timestamp(u.at_ms / 1000) as at, u.scope,
      left(u.address, 60) as address
    from jsonb_to_recordset(uses) as u ("clientId" text, at_ms double precision, scope text, address text)
      join public.oauth_clients c on c.client_id = u."clientId"
      join public.companies o on o.vendor_id = c.vendor_id and o.erased_at is null
  ), counts as materialized (
    select client_id, date_trunc('minute', at, 'UTC') as minute, count(scope) as tokens,
      count(*) - count(scope) as refused
    from uses group by 1, 2
  ), by_minute as (
    insert into public.client_usage_by_minute as m (client_id, minute, tokens, refused)
    select client_id, minute, tokens, refused from counts order by 1, 2
    on conflict (client_id, minute) do update
    set tokens = m.tokens + excluded.tokens, refused = m.refused + excluded.refused
  ), by_hour as (
    insert into public.client_usage_hourly as h (client_id, hour, tokens, refused)
    select client_id, date_trunc('hour', minute, 'UTC'), sum(tokens), sum(refused)
    from counts group by 1, 2 order by 1, 2
    on conflict (client_id, hour) do update
    set tokens = h.tokens + excluded.tokens, refused = h.refused + excluded.refused
  ), by_scope as (
    select client_id, jsonb_object_agg(one, at order by at) as scopes
    from uses, string_to_table(scope, ' ') as one where one = any(own_scopes) group by 1
  ), by_client as (
    select client_id, min(at) as first_at, max(at) as last_at,
      max(least(2147483647, quiet_s)) filter (where quiet_s is not null)::integer as quiet_s
    from (select client_id, at,
        extract(epoch from at - lag(at) over (partition by client_id order by at)) as quiet_s
      from uses where scope is not null) as tokens group by 1
  ), latest as (
    insert into public.client_usage as l (client_id, first_used_at, last_used_at, longest_quiet_s, scopes)
    select client_id, first_at, last_at, quiet_s, coalesce(scopes, '{}')
    from by_client left join by_scope using (client_id) order by 1
    on conflict (client_id) do update
    set first_used_at = least(l.first_used_at, excluded.first_used_at),
      last_used_at = greatest(l.last_used_at, excluded.last_used_at),
      scopes = case when excluded.last_used_at < l.last_used_at then excluded.scopes || l.scopes
        else l.scopes || excluded.scopes end,
      longest_quiet_s = greatest(l.longest_quiet_s, excluded.longest_quiet_s, least(2147483647, greatest(0,
        extract(epoch from excluded.first_used_at - l.last_used_at)))::integer)
  ), by_address as (
    select client_id, (at at time zone 'UTC')::date as day, address, count(*) as tokens,
      min(at) as first_at, max(at) as last_at
    from uses where scope is not null group by 1, 2, 3
  )
  select array_agg((client_id, day, address, tokens, first_at, last_at)::public.client_address_usage)
  into used from by_address;

  with known as (
    update public.client_address_usage a
    set tokens = a.tokens + u.tokens, first_seen_at = least(a.first_seen_at, u.first_seen_at),
      last_seen_at = greatest(a.last_seen_at, u.last_seen_at)
    from unnest(used) as u where (a.client_id, a.day, a.address) = (u.client_id, u.day, u.address)
    returning a.client_id, a.day, a.address
  ), new as materialized (
    select u.*, row_number() over (partition by client_id, day order by last_seen_at, address) as place
    from unnest(used) as u left join known using (client_id, day, address) where known.client_id is null
  ), room as (
    select client_id, day, 200 - (select count(*) from public.client_address_usage a
      where (a.client_id, a.day) = (new.client_id, new.day)) as places
    from new group by 1, 2
  )
  insert into public.client_address_usage
  select client_id, day, address, tokens, first_seen_at, last_seen_at
  from new join room using (client_id, day) where place <= places;
end $$;

-- Each company has at most one destination, which can be replaced but not removed.
create table callback_destinations (
  vendor_id    text primary key references companies,
  callback_url text not null check (callback_url like 'https://%' and octet_length(callback_url) <= 2048),
  verified     boolean not null,
  updated_at   timestamptz not null,
  updated_by   text not null references users,
  -- A test event is being sent until this time at the latest; null once it has ended.
  test_until   timestamptz
);
