import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Who waits for a lock on a table holds up all that come after: it is rather tried again.
    set local lock_timeout = '2s';
    -- No query of the services or of the operator's command looks for events by their day.
    drop index analytics_events_by_day;

    -- Remembers each id and tells for each whether it was new; null: all were. Nearly every batch is all new, and to
    -- look before each insert, as "on conflict" does, would cost a third more: so it is tried without.
    -- Callers give ids in an order that all share. remember_analytics_event_ids stays for the version before this.
    create function remember_which_are_new(vendor text, ids text[]) returns boolean[]
    language plpgsql set search_path = pg_catalog, pg_temp as $$
    declare
      -- Worked out once: the column's default would be for each row.
      today  date := (now() at time zone 'UTC')::date;
      is_new boolean[] := '{}';
      id     text;
    begin
      begin
        insert into public.analytics_event_ids (vendor_id, event_id, received_on) select vendor, unnest(ids), today;
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
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    set local lock_timeout = '2s';
    drop function remember_which_are_new;
    create index analytics_events_by_day on analytics_events (vendor_id, date);
  `)
}
