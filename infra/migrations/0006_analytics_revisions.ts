import type { Knex } from 'knex'

/*
 * A reader that kept the answer to an earlier question needs to know whether any day of the company has changed
 * since. Each statement that changes days gives their companies a new revision, in the same transaction; so a reader
 * that sees a revision sees the days that belong to it, and one that it saw before tells that nothing has changed.
 * Revisions are random, and not counted, so that one which a restored backup hands out was never seen before.
 * A company without a revision has never had a day.
 *
 * Writers of one company meet in its revision, until they commit. It comes last in their statement; so none waits in
 * a circle as long as a transaction changes the days of a company by one statement.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table analytics_revisions (
      vendor_id text primary key references companies,
      revision  uuid not null
    ) with (fillfactor = 50);
    grant select on analytics_revisions to integration_api;

    -- Companies in one order, so that two statements that change the days of several cannot wait in a circle.
    create function revise_analytics() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    begin
      insert into public.analytics_revisions as r (vendor_id, revision)
      select vendor_id, gen_random_uuid() from (select distinct vendor_id from changed order by vendor_id) c
      on conflict (vendor_id) do update set revision = excluded.revision;
      return null;
    end $$;
    create function revise_moved_analytics() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    begin
      insert into public.analytics_revisions as r (vendor_id, revision)
      select vendor_id, gen_random_uuid()
      from (select vendor_id from before union select vendor_id from changed order by vendor_id) c
      on conflict (vendor_id) do update set revision = excluded.revision;
      return null;
    end $$;
    create function revise_all_analytics() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    begin
      update public.analytics_revisions set revision = gen_random_uuid();
      return null;
    end $$;
    revoke execute on function revise_analytics, revise_moved_analytics, revise_all_analytics from public;

    create trigger revise_inserted after insert on analytics_daily
      referencing new table as changed for each statement execute function revise_analytics();
    create trigger revise_updated after update on analytics_daily
      referencing old table as before new table as changed
      for each statement execute function revise_moved_analytics();
    create trigger revise_deleted after delete on analytics_daily
      referencing old table as changed for each statement execute function revise_analytics();
    create trigger revise_truncated after truncate on analytics_daily
      for each statement execute function revise_all_analytics();

    insert into analytics_revisions
      select vendor_id, gen_random_uuid() from companies where exists
        (select from analytics_daily d where d.vendor_id = companies.vendor_id);
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop trigger revise_inserted on analytics_daily;
    drop trigger revise_updated on analytics_daily;
    drop trigger revise_deleted on analytics_daily;
    drop trigger revise_truncated on analytics_daily;
    drop function revise_analytics, revise_moved_analytics, revise_all_analytics;
    drop table analytics_revisions;
  `)
}
