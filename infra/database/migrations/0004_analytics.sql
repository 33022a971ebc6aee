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
--
-- Of the three tables, only analytics_daily refers to companies. A check of each event would look up the same
-- company again and again, and each event is written together with its day.
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

-- Remembers the ids and returns for each whether it was new, or null if all were. Nearly every batch is all
-- new, and looking before each insert, as "on conflict" does, costs a third more, so the first attempt does
-- without. All callers sort the ids alike.
create function remember_which_are_new(vendor text, ids text[]) returns boolean[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- Evaluated once, unlike the column's default.
  today  date := (now() at time zone 'UTC')::date;
  is_new boolean[] := '{}';
  id     text;
begin
  begin
    insert into public.analytics_event_ids (vendor_id, event_id, received_on)
    select vendor, unnest(ids), today;
    return null;
  exception when unique_violation then
    foreach id in array ids loop
      insert into public.analytics_event_ids (vendor_id, event_id, received_on) values (vendor, id, today)
        on conflict do nothing;
      is_new := is_new || found;
    end loop;
    return is_new;
  end;
end $$;

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
    continue when exists (select from public.analytics_events_default
                          where received_at >= week and received_at < week + interval '7 days');
    -- Attaching, unlike "partition of", does not block writers of other partitions.
    execute format('create table public.%I (like public.analytics_events including all)', partition);
    execute format(
      'alter table public.analytics_events attach partition public.%I for values from (%L) to (%L)',
      partition, week, week + interval '7 days');
    return next partition;
  end loop;
end $$;

-- Events received less than 35 days ago stay, whatever the argument. While this waits for a reader of the
-- table, such as a backup, writers wait too, and each process tries, so it gives up early.
create function drop_old_analytics_events(retention_days integer) returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '500ms' as $$
declare
  oldest_kept timestamptz := now() - retention_days * interval '1 day';
  partition   text;
begin
  if retention_days is null or retention_days < 35 then
    raise exception 'retention_days must be at least 35' using errcode = 'invalid_parameter_value';
  end if;
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

-- Deletes at most max_rows old events outside the weekly partitions. Those of the last 35 days stay.
create function delete_old_default_events(retention_days integer, max_rows integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  deleted integer;
begin
  if retention_days is null or retention_days < 35 then
    raise exception 'retention_days must be at least 35' using errcode = 'invalid_parameter_value';
  end if;
  delete from public.analytics_events_default where ctid = any (array(
    select ctid from public.analytics_events_default
    where received_at < now() - retention_days * interval '1 day' order by received_at limit max_rows));
  get diagnostics deleted = row_count;
  return deleted;
end $$;

-- Forgets at most max_rows ids of those that were received more than 35 whole days ago.
create function forget_old_analytics_event_ids(max_rows integer) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  forgotten integer;
begin
  delete from public.analytics_event_ids where ctid = any (array(
    select ctid from public.analytics_event_ids
    where received_on < current_date - 35 order by received_on limit max_rows));
  get diagnostics forgotten = row_count;
  return forgotten;
end $$;

select create_analytics_event_partitions(4);

-- A reader with a cached answer needs to know whether any day of the company has changed since. Each
-- statement that changes days gives their companies a new revision in the same transaction, so an unchanged
-- revision means unchanged days. Revisions are random numbers, so that a restored backup never issues one
-- that a reader has already seen. A company without a revision has never had a day.
--
-- Writers of one company wait for each other at its revision, until they commit. The revision is written
-- last, so they cannot deadlock as long as a transaction changes the days of a company by one statement.
create table analytics_revisions (
  vendor_id text primary key references companies,
  revision  uuid not null
) with (fillfactor = 50);

-- Companies in one order, so that two statements that change the days of several cannot deadlock.
create function revise_analytics() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into public.analytics_revisions as r (vendor_id, revision)
  select vendor_id, gen_random_uuid() from (select distinct vendor_id from changed order by vendor_id) c
  on conflict (vendor_id) do update set revision = excluded.revision;
  return null;
end $$;
create trigger revise_inserted after insert on analytics_daily
  referencing new table as changed for each statement execute function revise_analytics();
create trigger revise_updated after update on analytics_daily
  referencing new table as changed for each statement execute function revise_analytics();
create trigger revise_deleted after delete on analytics_daily
  referencing old table as changed for each statement execute function revise_analytics();
