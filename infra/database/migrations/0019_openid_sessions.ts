import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table sessions
      -- The OpenID provider that began the session. null: another way of signing in did.
      add column openid_issuer text check (char_length(openid_issuer) between 1 and 2000),
      -- Names the person's session at the provider, which may end it. null: the provider does not name its sessions.
      add column openid_sid text check (char_length(openid_sid) between 1 and 255),
      add constraint sessions_sid_of_issuer check (openid_sid is null or openid_issuer is not null);
    create index sessions_by_openid_sid on sessions (openid_sid) where openid_sid is not null;

    comment on column sign_in_addresses.address is
      'An address, or "browser:" and the hash of the secret that the browser keeps, or "everywhere".';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    comment on column sign_in_addresses.address is null;
    alter table sessions drop column openid_sid, drop column openid_issuer;
  `)
}
