import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table oauth_clients
      -- When someone reported the client's secret. It decides nothing: only revoking ends access.
      add column secret_found_at     timestamptz,
      -- Where, as the finder says: a stranger's words, in ASCII and without a secret. null: not said
      add column secret_found_source text check (
        char_length(secret_found_source) between 1 and 200
        and secret_found_source ~ '^[ -~]+$'
        and secret_found_source !~* '(ias|ses|inv)_[0-9a-z]{16}'
      ),
      add constraint oauth_clients_found_secret check (secret_found_at is null or secret_hash is not null),
      add constraint oauth_clients_found_source check (
        secret_found_source is null or secret_found_at is not null
      );
    create index oauth_clients_by_secret on oauth_clients (secret_hash) where secret_hash is not null;
    create index oauth_clients_by_finding on oauth_clients (vendor_id)
      where secret_found_at is not null and status = 'Active';

    create function found_secret_stays_found() returns trigger language plpgsql as $$
    begin
      raise exception 'the secret of client % is already marked as found', old.client_id
        using errcode = 'check_violation';
    end $$;
    create trigger found_secret_stays_found before update on oauth_clients for each row
      when (old.secret_found_at is not null and (new.secret_found_at, new.secret_found_source)
            is distinct from (old.secret_found_at, old.secret_found_source))
      execute function found_secret_stays_found();

    -- Marks the Active clients that have these secrets and are not marked yet, and returns them. The API can neither
    -- read a hash nor mark a client in any other way. One statement whatever is found, and locks in one order.
    create function mark_found_secrets(hashes bytea[], sources text[])
      returns table (client_id text, vendor_id text, name text, source text)
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
      returning c.client_id, c.vendor_id, c.name, c.secret_found_source
    $$;
    revoke execute on function found_secret_stays_found, mark_found_secrets from public;

    grant select (secret_found_at, secret_found_source) on oauth_clients to integration_api;
    grant execute on function mark_found_secrets to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop trigger found_secret_stays_found on oauth_clients;
    drop function found_secret_stays_found, mark_found_secrets;
    drop index oauth_clients_by_secret;
    alter table oauth_clients
      drop constraint oauth_clients_found_secret,
      drop column secret_found_at, drop column secret_found_source;
  `)
}
