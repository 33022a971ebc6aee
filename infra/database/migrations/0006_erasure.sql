-- The functions below erase only what an operator's entry in the activity names, so that no erasure goes
-- unrecorded. The right to call them allows neither deleting anything else nor changing the records.

-- Looks at the next max_rows entries, and removes the details of those about erased people and of
-- erased companies. What happened, when, and to which subject stays. last_entry is null at the end.
create function erase_from_activity(after bigint, max_rows integer, out last_entry bigint, out erased integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  with step as materialized (
    select a.entry_id,
      exists (select from public.companies c where c.vendor_id = a.vendor_id and c.erased_at is not null)
        as of_company,
      exists (select from public.activity e where e.subject = a.subject
        and e.action = 'person.erased' and e.operator is not null) as of_person
    from public.activity a where a.entry_id > after order by a.entry_id limit max_rows),
  blanked as (
    update public.activity a set detail = '{}' from step s
    where a.entry_id = s.entry_id and (s.of_company and a.detail <> '{}'
      or s.of_person and jsonb_exists_any(a.detail, array['name', 'email']))
    returning a.entry_id)
  select max(step.entry_id), (select count(*) from blanked) into last_entry, erased from step;
end $$;

-- Ends the account. Its row stays without a name, since clients and the activity refer to it.
create function erase_person(person text, unusable_hash text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from public.activity
                 where subject = person and action = 'person.erased' and operator is not null) then
    raise exception 'no entry of the activity says that % is erased', person
      using errcode = 'check_violation';
  end if;
  -- The lock of apps/api/accounts/people.ts. A sign-in under way has its session, or finds no account.
  perform pg_advisory_xact_lock(hashtextextended('password of ' || person, 0));
  if exists (select from public.memberships where user_id = person and role = 'owner') then
    raise exception '% owns a company', person using errcode = 'check_violation';
  end if;
  delete from public.memberships where user_id = person;
  delete from public.sessions where user_id = person;
  delete from public.sign_in_addresses where user_id = person;
  delete from public.openid_identities where user_id = person;
  delete from public.client_creation_keys where user_id = person;
  delete from public.invitations where user_id = person;
  delete from public.mails where user_id = person;
  delete from public.password_resets where user_id = person;
  update public.users set email = null, name = 'Erased person', password_hash = unusable_hash
    where user_id = person;
end $$;

-- Begins the erasure: no one is a member any more, and no client can be created. Returns who was a member.
create function erase_company(vendor text) returns setof text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from public.activity
                 where subject = vendor and action = 'company.erased' and operator is not null) then
    raise exception 'no entry of the activity says that % is erased', vendor
      using errcode = 'check_violation';
  end if;
  perform from public.companies where vendor_id = vendor for update;
  update public.companies set name = 'Erased company', timezone = 'UTC', currency = 'XXX',
    erased_at = coalesce(erased_at, clock_timestamp()) where vendor_id = vendor;
  return query delete from public.memberships where vendor_id = vendor returning user_id;
end $$;

-- The tables with rows of a company, in the order of their erasure, and which rows are still to be erased ($1
-- is the company).
create function company_tables() returns table (relation text, remaining text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select t, 'vendor_id = $1'
  from unnest(array['mails', 'invitations', 'client_creation_keys', 'callback_destinations',
    'workload_issuers', 'analytics_daily', 'analytics_revisions', 'analytics_event_ids']) t
  union all
  select t, 'client_id in (select client_id from public.oauth_clients where vendor_id = $1)'
  from unnest(array['client_usage', 'client_usage_hourly', 'client_usage_by_minute', 'client_address_usage']) t
  union all
  select 'oauth_clients', $rows$vendor_id = $1 and (name <> 'Erased client' or secret_found_source is not null
    or workload_issuer <> 'https://erased.invalid' or workload_claims <> '{"sub": "erased"}'
    or workload_platform is not null)$rows$
  union all
  select relname, 'vendor_id = $1' from pg_inherits join pg_class c on c.oid = inhrelid
  where inhparent = 'public.analytics_events'::regclass
$$;

-- Deletes at most max_rows of a table's rows, and returns how many. A client stays, revoked and nameless.
create function erase_company_rows(vendor text, relation text, max_rows integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  erasure text := case relation when 'oauth_clients'
    then 'update public.oauth_clients set name = ''Erased client'', secret_found_source = null, '
      'workload_issuer = case when workload_issuer is not null then ''https://erased.invalid'' end, '
      'workload_claims = case when workload_issuer is not null then ''{"sub": "erased"}''::jsonb end, '
      'workload_platform = null'
    else format('delete from public.%I', relation) end;
  condition text := (select remaining from public.company_tables() t where t.relation = $2);
  own_shard text;
  erased integer;
begin
  if not exists (select from public.companies where vendor_id = vendor and erased_at is not null)
     or exists (select from public.oauth_clients where vendor_id = vendor and status = 'Active') then
    raise exception '% is not being erased, or has Active clients', vendor using errcode = 'check_violation';
  end if;
  -- A partition of events that was dropped since it was listed.
  if to_regclass(format('public.%I', relation)) is null then
    return 0;
  end if;
  if condition is null then
    raise exception '% is not a table of companies', relation using errcode = 'check_violation';
  end if;
  -- Where the tables are distributed, a ctid names a row in each shard, so the condition is repeated outside.
  -- Elsewhere it would tempt the planner to find the rows by it, and to compare each with each place.
  own_shard := case when public.is_distributed(format('public.%I', relation)::regclass)
    then condition || ' and ' else '' end;
  execute format('%s where %s ctid = any (array(select ctid from public.%I where %s limit $2))',
    erasure, own_shard, relation, condition) using vendor, max_rows;
  get diagnostics erased = row_count;
  return erased;
end $$;
