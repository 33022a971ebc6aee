import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Who somebody is at an OpenID provider. The subject alone identifies; addresses and names change.
    create table openid_identities (
      issuer     text not null check (char_length(issuer) between 1 and 2000),
      subject    text not null check (char_length(subject) between 1 and 255),
      user_id    text not null references users,
      created_at timestamptz not null default now(),
      primary key (issuer, subject),
      unique (user_id, issuer)
    );
    grant select, insert (issuer, subject, user_id) on openid_identities to integration_api;

    -- Seals the cookie of a sign-in that is under way at the provider. One row.
    create table openid_cookie_key (
      only_row boolean primary key default true check (only_row),
      key      bytea not null default
        sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')) check (octet_length(key) = 32)
    );
    insert into openid_cookie_key default values;
    grant select on openid_cookie_key to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('drop table openid_cookie_key, openid_identities')
}
