import type { Knex } from 'knex'

/*
 * analytics_events is partitioned by the time of receipt, in weeks of UTC, and not by the time of the event:
 * writers then touch one partition only, the one of this week, whatever age of history is imported; which
 * partitions are needed next is known in advance; older ones never change again, so that they can be backed up
 * once, detached and dropped; and how long an event is kept is counted from when it arrived. The default partition
 * takes what comes while nobody makes partitions, so that a forgotten housekeeping never refuses an event.
 *
 * A unique key of a partitioned table must hold the partition column, so that it could not tell that an event was
 * sent again in another week. The ids that were seen are therefore remembered in a table of their own, whose
 * primary key is what makes an event count once. That table is not partitioned by time for the same reason, and is
 * purged by deletes in small batches along an index on the day, which costs little beside the inserts.
 *
 * None of the three tables of events refers to companies but analytics_daily: a check for each row would look up
 * the same company again and again, and every event is written together with its day.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
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
    create index analytics_events_by_day on analytics_events (vendor_id, date);
    create table analytics_events_default partition of analytics_events default;

    create table analytics_event_ids (
      vendor_id   text collate "C" not null,
      event_id    text collate "C" not null,
      received_on date not null default (now() at time zone 'UTC')::date,
      primary key (vendor_id, event_id)
    ) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
    create index analytics_event_ids_by_age on analytics_event_ids (received_on);

    -- Remembers each id, given in "C" order, and returns those that were new. Nearly every batch is all new, and
    -- asking the key twice for each row, as "on conflict" does, would cost a third more: so it is tried without.
    create function remember_analytics_event_ids(vendor text, ids text[]) returns setof text
    language plpgsql set search_path = pg_catalog, pg_temp as $$
    begin
      begin
        insert into public.analytics_event_ids (vendor_id, event_id) select vendor, id from unnest(ids) as id;
        return query select unnest(ids);
      exception when unique_violation then
        return query insert into public.analytics_event_ids (vendor_id, event_id) select vendor, id from unnest(ids) as id
          on conflict do nothing returning event_id;
      end;
    end $$;

    -- The day on which the first event of this date was stored (UTC): while it lies within the days that ids are
    -- remembered for, every event in the figures can be told from a repeat. null: not made from events.
    alter table analytics_daily add column first_received_on date;
    -- Room in each page for the next version of a row, so that counting up touches no index.
    alter table analytics_daily set (fillfactor = 70);

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
      -- One process at a time; the others have nothing left to do.
      if not pg_try_advisory_xact_lock(hashtext('public.analytics_events')) then return; end if;
      for week in select date_trunc('week', now()) + ahead * interval '7 days'
                  from generate_series(0, weeks_ahead) as ahead loop
        partition := 'analytics_events_' || to_char(week, 'YYYYMMDD');
        continue when to_regclass('public.' || partition) is not null;
        -- The default partition took events of this week already and keeps them.
        continue when exists (select from public.analytics_events_default
                              where received_at >= week and received_at < week + interval '7 days');
        -- Attaching, unlike "partition of", lets writers of the other partitions go on.
        execute format('create table public.%I (like public.analytics_events including all)', partition);
        execute format('alter table public.analytics_events attach partition public.%I for values from (%L) to (%L)',
                       partition, week, week + interval '7 days');
        return next partition;
      end loop;
    end $$;

    -- Events received less than 35 days ago stay, whatever is asked for.
    create function drop_old_analytics_events(retention_days integer) returns setof text
    language plpgsql security definer
    set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '2s' as $$
    declare
      oldest_kept timestamptz := now() - retention_days * interval '1 day';
      partition   text;
    begin
      if retention_days is null or retention_days < 35 then
        raise exception 'retention_days must be at least 35' using errcode = 'invalid_parameter_value';
      end if;
      if not pg_try_advisory_xact_lock(hashtext('public.analytics_events')) then return; end if;
      delete from public.analytics_events_default where ctid = any (array(
        select ctid from public.analytics_events_default where received_at < oldest_kept limit 10000));
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

    -- Forgets at most max_rows ids of those that were received more than 35 whole days ago.
    create function forget_old_analytics_event_ids(max_rows integer) returns integer
    language plpgsql security definer
    set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
    declare
      forgotten integer;
    begin
      if not pg_try_advisory_xact_lock(hashtext('public.analytics_event_ids')) then return 0; end if;
      delete from public.analytics_event_ids where ctid = any (array(
        select ctid from public.analytics_event_ids
        where received_on < current_date - 35 order by received_on limit max_rows));
      get diagnostics forgotten = row_count;
      return forgotten;
    end $$;

    -- The service can add events and ask for the housekeeping; it cannot remove or change one.
    grant select, insert on analytics_events, analytics_event_ids to integration_api;
    revoke execute on function create_analytics_event_partitions, drop_old_analytics_events,
      forget_old_analytics_event_ids from public;
    grant execute on function create_analytics_event_partitions, drop_old_analytics_events,
      forget_old_analytics_event_ids to integration_api;

    select create_analytics_event_partitions(4);
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop function create_analytics_event_partitions, drop_old_analytics_events, forget_old_analytics_event_ids,
      remember_analytics_event_ids;
    alter table analytics_daily drop column first_received_on;
    drop table analytics_events, analytics_event_ids;
    drop type analytics_event_type;
  `)
}
