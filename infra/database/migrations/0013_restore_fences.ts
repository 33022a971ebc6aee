import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Which database this is. A copy, or one restored from a dump or to a point in time, has another name; the last
    -- part is the timeline, which also changes when a standby is promoted. Null on a standby.
    create function database_place() returns text language sql stable as $$
      select case when not pg_catalog.pg_is_in_recovery() then
        pg_catalog.concat_ws('/', system_identifier,
          (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()),
          'public.revocation_trust'::pg_catalog.regclass::pg_catalog.oid,
          pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8)) end
      from pg_catalog.pg_control_system()
    $$;
    revoke execute on function database_place from public;
    grant execute on function database_place to integration_auth, integration_api;

    alter table revocation_trust
      -- where this database was when an operator, or its first migration, said that it is complete
      add column place        text,
      add column confirmed_at timestamptz not null default clock_timestamp();
    update revocation_trust set place = database_place();
    grant update (place) on revocation_trust to integration_api;

    -- While one stands, nobody is let in: the database may have forgotten revocations.
    create table restore_fences (
      raised_at  timestamptz primary key default clock_timestamp(),
      reason     text not null check (char_length(reason) between 1 and 300),
      lowered_at timestamptz
    );
    create unique index one_restore_fence on restore_fences ((true)) where lowered_at is null;
    -- A service can raise a fence. Only the owner of the table can lower it.
    grant select, insert (reason) on restore_fences to integration_api;
    grant select (lowered_at) on restore_fences to integration_auth;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop table restore_fences;
    revoke update (place) on revocation_trust from integration_api;
    alter table revocation_trust drop column place, drop column confirmed_at;
    drop function database_place;
  `)
}
