-- A day without a row was never reported. Every sum fits a JavaScript number exactly.
--
-- The four tables of this file can be spread over machines by company (citus.sql). So they have no foreign
-- key and no trigger with a transition table, and vendor_id has the same collation in all of them.
create table analytics_daily (
  vendor_id         text collate "C" not null,
  date              date not null,
  impressions       bigint not null default 0 check (impressions between 0 and 9007199254740991),
  clicks            bigint not null default 0 check (clicks between 0 and 9007199254740991),
  orders            bigint not null default 0 check (orders between 0 and 9007199254740991),
  units_sold        bigint not null default 0 check (units_sold between 0 and 9007199254740991),
  revenue_minor     bigint not null default 0 check (revenue_minor between 0 and 9007199254740991),
  boost_spend_minor bigint not null default 0 check (boost_spend_minor between 0 and 9007199254740991),
  -- the newest event of the day, in the company's time zone
  last_event_at     timestamptz not null,
  -- The day on which the first event of this date was stored (UTC). As long as ids are remembered since then,
  -- a repeated event can be recognised. null: the figures were not made from events.
  first_received_on date,
  primary key (vendor_id, date)
  -- Each page has free space for the next version of a row, so that an update touches no index.
) with (fillfactor = 70);

-- analytics_events is partitioned by the time of receipt, in weeks of UTC, not by the time of the event.
-- Writers then use only the partition of this week, however old the imported history is. The partitions
-- needed next are known in advance. Older ones never change, so they can be backed up once, detached and
-- dropped. Retention counts from the receipt. The default partition takes events while no partitions are
-- created, so that a failed housekeeping never makes the service refuse one.
create type analytics_event_type as enum ('impression', 'click', 'order', 'boost_spend');

create table analytics_events (
  vendor_id    text collate "C" not null,
  event_id     text collate "C" not null,
  type         analytics_event_type not null,
  -- the day that it was counted into, in the company's time zone
  date         date not null,
  occurred_at  timestamptz not null,
  received_at  timestamptz not null default now(),
  quantity     bigint check (quantity between 1 and 9007199254740991),
  amount_minor bigint check (amount_minor between 0 and 9007199254740991),
  check ((type = 'boost_spend') = (quantity is null)),
  check ((type in ('order', 'boost_spend')) = (amount_minor is not null))
) partition by range (received_at);
create table analytics_events_default partition of analytics_events default;
create index analytics_events_default_by_receipt on analytics_events_default (received_at);

-- A unique key of a partitioned table must contain the partition column, so it would not detect that an event
-- is sent again in another week. So the ids have a table of their own, whose primary key makes an event count
-- once. For the same reason it is not partitioned by time. It is purged in small batches along an index on
-- the day, which costs little compared with the inserts.
create table analytics_event_ids (
  vendor_id   text collate "C" not null,
  event_id    text collate "C" not null,
  received_on date not null default (now() at time zone 'UTC')::date,
  primary key (vendor_id, event_id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index analytics_event_ids_by_age on analytics_event_ids (received_on);

-- The service can add events and run the housekeeping, but neither remove nor change an event.
create function create_analytics_event_partitions(weeks_ahead integer) returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '2s' as $$
declare
  week      timestamptz;
  partition text;
begin
  if weeks_ahead is null or weeks_ahead not between 0 and 52 then
    raise exception 'weeks_ahead must be between 0 and 52' using errcode = 'invalid_parameter_value';
  end if;
  -- One process at a time. The others then have nothing left to do.
  if not pg_try_advisory_xact_lock(hashtextextended('public.analytics_events', 0)) then return; end if;
  for week in select date_trunc('week', now()) + ahead * interval '7 days'
              from generate_series(0, weeks_ahead) as ahead loop
    partition := 'analytics_events_' || to_char(week, 'YYYYMMDD');
    continue when to_regclass('public.' || partition) is not null;
    -- The default partition already has events of this week, and keeps them.
    continue when exists (select 1 from public.analytics_events_default
                          where received_at >= week and received_at < week + interval '7 days');
    -- Attaching, unlike "partition of", does not block writers of other partitions.
    execute format('create table public.%I (like public.analytics_events including all)', partition);
    execute format(
      'alter table public.analytics_events attach partition public.%I for values from (%L) to (%L)',
      partition, week, week + interval '7 days');
    return next partition;
  end loop;
end $$;

-- Returns the moment before which rows may be deleted that are kept for this many days. Neither events nor
-- ids are ever deleted sooner than after 35 days.
create function oldest_kept(days integer) returns timestamptz
language plpgsql set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
begin
  if days is null or days < 35 then
    raise exception 'they are kept for at least 35 days' using errcode = 'invalid_parameter_value';
  end if;
  return now() - days * interval '1 day';
end $$;

-- Returns whether the rows of a table are spread over machines (citus.sql).
create function is_distributed(relation regclass) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if to_regclass('pg_catalog.pg_dist_partition') is null then return false; end if;
  return exists (select 1 from pg_dist_partition where logicalrelid = relation);
end $$;

-- Deletes the oldest rows of a table up to a time, at most max_rows, or where the table is distributed, at
-- most max_rows of each shard. A ctid names a row of one shard only, so each shard runs the statement itself,
-- in a transaction of its own. A shard that fails stops no other, and is reported once those have few left.
-- The time is written in a form that each machine reads alike, whatever the caller has set.
create function delete_oldest(relation regclass, time_column name, before timestamptz, max_rows integer)
returns integer language plpgsql
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO' as $$
declare
  -- It names the table or shard as %1$s.
  step text := format('with deleted as (delete from %%1$s where ctid = any (array(
    select ctid from %%1$s where %1$I < %2$L order by %1$I limit %3$s)) returning 1)
    select count(*) from deleted', time_column, before, max_rows);
  deleted integer;
  failure text;
begin
  if public.is_distributed(relation) then
    select coalesce(sum(result::integer) filter (where success), 0), min(result) filter (where not success)
      into deleted, failure from run_command_on_shards(relation, step);
    if deleted < max_rows and failure is not null then
      raise exception 'a shard failed: %', failure;
    end if;
  else
    execute format(step, relation) into deleted;
  end if;
  return deleted;
end $$;

-- While this waits for a reader of the table, such as a backup, writers wait too, and each process tries, so
-- it gives up early.
create function drop_old_analytics_events(retention_days integer) returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '500ms' as $$
declare
  oldest_kept timestamptz := public.oldest_kept(retention_days);
  partition   text;
begin
  for partition in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'public.analytics_events'::regclass
      and c.relname ~ '^analytics_events_[0-9]{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') + interval '7 days' <= oldest_kept
    order by c.relname
  loop
    execute format('drop table public.%I', partition);
    return next partition;
  end loop;
end $$;

-- Deletes old events outside the weekly partitions.
create function delete_old_default_events(retention_days integer, max_rows integer) returns integer
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select public.delete_oldest('public.analytics_events_default', 'received_at',
    public.oldest_kept(retention_days), max_rows)
$$;

-- Forgets ids that were received more than so many whole days of UTC ago.
create function forget_old_analytics_event_ids(remembered_days integer, max_rows integer) returns integer
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select public.delete_oldest('public.analytics_event_ids', 'received_on',
    public.oldest_kept(remembered_days), max_rows)
$$;

select create_analytics_event_partitions(4);

-- A reader with a cached answer needs to know whether any day of the company has changed since. Storing
-- events gives the company a new revision in the same transaction, so an unchanged revision means unchanged
-- days. Revisions are random numbers, so that a restored backup never issues one that a reader has already
-- seen. A company without a revision has never had a day.
create table analytics_revisions (
  vendor_id text collate "C" primary key,
  revision  uuid not null
) with (fillfactor = 50);

-- Stores a company's events, counts them into their days, each id once, and returns how many were new. This
-- is the only way to add to the four tables: no role may write to them itself, so no day can change without
-- its revision. All callers send the ids in one order.
--
-- A caller that meets an id of a transaction still running waits until that one has committed or failed. To
-- exclude deadlocks, every caller locks the ids, then the days, each in the same order, and last the
-- revision, and a transaction calls this once. Callers of one company wait for each other only at the end,
-- and those of different companies never.
--
-- It is strict because Citus 13.2 crashes where the company of a distributed function is null.
create function store_analytics_events(vendor text, ids text[], types analytics_event_type[], dates date[],
  occurred_s float8[], quantities bigint[], amounts bigint[]) returns bigint
language plpgsql strict security definer set search_path = pg_catalog, pg_temp as $$
declare
  -- Evaluated once, unlike the column's default.
  today  date := (now() at time zone 'UTC')::date;
  is_new boolean[];
  id     text;
begin
  -- Nearly every batch is all new, and looking before each insert, as "on conflict" does, costs a third more.
  begin
    insert into public.analytics_event_ids (vendor_id, event_id, received_on)
    select vendor, unnest(ids), today;
  exception when unique_violation then
    foreach id in array ids loop
      insert into public.analytics_event_ids (vendor_id, event_id, received_on) values (vendor, id, today)
        on conflict do nothing;
      is_new := is_new || found;
    end loop;
    if true <> all (is_new) then return 0; end if;
  end;

  insert into public.analytics_events (vendor_id, event_id, type, date, occurred_at, quantity, amount_minor)
  select vendor, event_id, type, date, to_timestamp(at_s), quantity, amount
  from unnest(ids, types, dates, occurred_s, quantities, amounts, is_new)
    as event (event_id, type, date, at_s, quantity, amount, is_new)
  where event.is_new is not false;

  insert into public.analytics_daily as d (vendor_id, date, impressions, clicks, orders, units_sold,
    revenue_minor, boost_spend_minor, last_event_at, first_received_on)
  select vendor, date,
    coalesce(sum(quantity) filter (where type = 'impression'), 0),
    coalesce(sum(quantity) filter (where type = 'click'), 0),
    count(*) filter (where type = 'order'),
    coalesce(sum(quantity) filter (where type = 'order'), 0),
    coalesce(sum(amount) filter (where type = 'order'), 0),
    coalesce(sum(amount) filter (where type = 'boost_spend'), 0),
    to_timestamp(max(at_s)), today
  from unnest(types, dates, occurred_s, quantities, amounts, is_new)
    as event (type, date, at_s, quantity, amount, is_new)
  where event.is_new is not false group by date order by date
  on conflict (vendor_id, date) do update set
    impressions = d.impressions + excluded.impressions,
    clicks = d.clicks + excluded.clicks,
    orders = d.orders + excluded.orders,
    units_sold = d.units_sold + excluded.units_sold,
    revenue_minor = d.revenue_minor + excluded.revenue_minor,
    boost_spend_minor = d.boost_spend_minor + excluded.boost_spend_minor,
    last_event_at = greatest(d.last_event_at, excluded.last_event_at);

  insert into public.analytics_revisions as r (vendor_id, revision) values (vendor, gen_random_uuid())
    on conflict (vendor_id) do update set revision = excluded.revision;
  return cardinality(ids) - coalesce(cardinality(array_positions(is_new, false)), 0);
end $$;
