import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- As in 0001: another database's migration may have created the role.
    do $$
    begin
      perform pg_advisory_xact_lock(hashtext('integration roles'));
      if not exists (select from pg_roles where rolname = 'integration_operator') then
        create role integration_operator nologin;
      end if;
    end $$;
    grant usage on schema public to integration_operator;

    -- Whoever may revoke a service could otherwise undo it, or date it anew.
    create function service_stays_revoked() returns trigger language plpgsql as $$
    begin
      raise exception 'service % is revoked permanently', old.service_id using errcode = 'check_violation';
    end $$;
    create trigger service_stays_revoked before update on services for each row
      when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
      execute function service_stays_revoked();
    revoke execute on function service_stays_revoked from public;
  `)
  for (const grants of [PEOPLE, REVOCATIONS, KEYS, RESTORE, FIGURES]) await db.raw(grants)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop trigger service_stays_revoked on services;
    drop function service_stays_revoked;
    revoke all on all tables in schema public from integration_operator;
    revoke all on all functions in schema public from integration_operator;
    revoke usage on schema public from integration_operator;
  `)
}

/** No token of a session or an invitation can be read, and no entry written in a person's name, nor changed. */
const PEOPLE = `
  grant select (vendor_id, name, timezone, currency), insert (vendor_id, name, timezone, currency)
    on companies to integration_operator;
  grant select, insert (user_id, email, name, password_hash), update (email, password_hash)
    on users to integration_operator;
  grant select, insert, update (role, status) on memberships to integration_operator;
  grant select (user_id, session_id), delete on sessions to integration_operator;
  grant select, insert, update (last_at), delete on sign_in_addresses to integration_operator;
  grant select (user_id), delete on openid_identities to integration_operator;
  grant select (entry_id, vendor_id, operator, action, subject, at),
    insert (vendor_id, action, subject, detail, operator) on activity to integration_operator;
`

/** Neither a client nor the secret of one can be created, and no secret's hash be read. */
const REVOCATIONS = `
  grant select (client_id, vendor_id, name, scopes, status, created_at, created_by, revoked_at, revoked_by,
      secret_hint, replaces, key_thumbprint, expires_at, secret_found_at, secret_found_source),
    update (status, revoked_by) on oauth_clients to integration_operator;
  grant select (service_id, name, created_at, revoked_at), insert (service_id, name, secret_hash),
    update (revoked_at) on services to integration_operator;
`

/** A private key is stored encrypted, so neither reading nor planting one helps without KEY_ENCRYPTION_KEY. */
const KEYS = `
  grant select, insert, update (activates_at, private_key_encrypted) on signing_keys to integration_operator;
  grant select, insert on revoked_signing_keys to integration_operator;
`

const RESTORE = `
  grant execute on function database_place to integration_operator;
  grant select (run_id, place), update (place, confirmed_at) on revocation_trust to integration_operator;
  grant select, insert (reason), update (lowered_at) on restore_fences to integration_operator;
  grant select (jti), insert (jti, expires_at) on revoked_tokens to integration_operator;
  grant delete on invitations to integration_operator;
`

const FIGURES = `
  grant execute on function remember_which_are_new to integration_operator;
  grant select, insert on analytics_events, analytics_event_ids to integration_operator;
  grant select, insert, update on analytics_daily to integration_operator;
`
