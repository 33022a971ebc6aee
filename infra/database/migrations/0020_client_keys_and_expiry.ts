import type { Knex } from 'knex'

const NEVER_CHANGES = [
  'client_id',
  'vendor_id',
  'scopes',
  'secret_hash',
  'secret_hint',
  'replaces',
  'created_at',
  'created_by',
]

/** The trigger's function of 0011, for these columns. */
const onlyRenamedOrRevoked = (columns: string[]): string => {
  const of = (row: string): string => columns.map((column) => `${row}.${column}`).join(', ')
  return `
    create or replace function oauth_client_only_revokes() returns trigger language plpgsql as $$
    begin
      if old.status = 'Revoked' and (new.status, new.revoked_at, new.revoked_by)
         is distinct from (old.status, old.revoked_at, old.revoked_by) then
        raise exception 'client % is revoked permanently', old.client_id using errcode = 'check_violation';
      end if;
      if (${of('new')}) is distinct from (${of('old')}) then
        raise exception 'client % can only be renamed or revoked', old.client_id using errcode = 'check_violation';
      end if;
      return new;
    end $$;`
}

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table oauth_clients
      alter column secret_hash drop not null,
      -- The public JWK (RFC 7517) of a client that signs assertions (RFC 7523). It has no secret.
      add column public_key     jsonb check (
        jsonb_typeof(public_key) = 'object'
        and not jsonb_exists_any(public_key, array['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth'])
      ),
      -- RFC 7638, SHA-256
      add column key_thumbprint text check (key_thumbprint ~ '^[0-9A-Za-z_-]{43}$'),
      -- From then on it gets no tokens. null: never
      add column expires_at     timestamptz check (isfinite(expires_at) and expires_at > created_at),
      add constraint oauth_clients_one_way check ((secret_hash is null) <> (public_key is null)),
      add constraint oauth_clients_key_named check ((public_key is null) = (key_thumbprint is null)),
      add constraint oauth_clients_hint_of_secret check (secret_hint is null or secret_hash is not null);
    ${onlyRenamedOrRevoked([...NEVER_CHANGES, 'public_key', 'key_thumbprint', 'expires_at'])}
    grant select (public_key, expires_at) on oauth_clients to integration_auth;
    grant select (key_thumbprint, expires_at) on oauth_clients to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    ${onlyRenamedOrRevoked(NEVER_CHANGES)}
    alter table oauth_clients
      drop constraint oauth_clients_hint_of_secret,
      drop constraint oauth_clients_one_way,
      drop column public_key, drop column key_thumbprint, drop column expires_at,
      alter column secret_hash set not null;
  `)
}
