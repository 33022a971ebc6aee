import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Services other than these two, which ask whether a token is live (RFC 7662). Only an operator writes here.
    create table services (
      service_id  text primary key check (service_id ~ '^svc_[A-Za-z0-9]{22}$'),
      name        text not null check (char_length(name) between 1 and 100),
      secret_hash bytea not null check (octet_length(secret_hash) = 32),
      created_at  timestamptz not null default clock_timestamp(),
      revoked_at  timestamptz
    );
    grant select (service_id, secret_hash, revoked_at) on services to integration_auth;

    -- The page of revocations lists clients by when they were revoked.
    grant select (revoked_at) on oauth_clients to integration_auth;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    revoke select (revoked_at) on oauth_clients from integration_auth;
    drop table services;
  `)
}
