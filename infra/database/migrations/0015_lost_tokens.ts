import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- A revocation that Postgres lost and Redis kept is stored again. Whose token it is, Redis does not know: null.
    alter table revoked_tokens alter column client_id drop not null;
    grant insert (jti, expires_at) on revoked_tokens to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    revoke insert (jti, expires_at) on revoked_tokens from integration_api;
    delete from revoked_tokens where client_id is null;
    alter table revoked_tokens alter column client_id set not null;
  `)
}
