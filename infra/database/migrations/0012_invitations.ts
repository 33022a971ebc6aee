import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- An invitation ends by being accepted, withdrawn, replaced or late.
    create table invitations (
      token_hash bytea primary key check (octet_length(token_hash) = 32),
      vendor_id  text not null references companies,
      -- Names the invitation in the list of people. Someone without an account gets it as user id.
      user_id    text not null unique check (user_id ~ '^usr_[A-Za-z0-9]{1,60}$'),
      email      text not null check (email = lower(email) and char_length(email) between 3 and 254),
      name       text not null check (char_length(name) between 1 and 200),
      role       text not null check (role in ('admin', 'member')),
      invited_by text not null references users,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      unique (vendor_id, email)
    );
    create index invitations_by_expiry on invitations (expires_at);
    grant select, insert, delete on invitations to integration_api;
    grant insert (user_id, email, name, password_hash) on users to integration_api;
    grant insert, delete, update (role, status) on memberships to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    revoke insert, delete, update (role, status) on memberships from integration_api;
    revoke insert (user_id, email, name, password_hash) on users from integration_api;
    drop table invitations;
  `)
}
