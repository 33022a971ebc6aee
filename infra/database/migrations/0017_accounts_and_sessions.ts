import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- An address is no identity: companies that invite the same address may each have an account for it.
    alter table users drop constraint users_email_key;
    create index users_by_email on users (email);
    -- null: the account has ended, and its address is free.
    alter table users alter column email drop not null;
    grant update (email, password_hash) on users to integration_api;

    alter table sessions
      -- When the person last proved who they are. null: when the session began.
      add column authenticated_at timestamptz;
    create index sessions_by_use on sessions (last_seen_at);
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop index sessions_by_use;
    alter table sessions drop column authenticated_at;
    revoke update (email, password_hash) on users from integration_api;
    update users set email = lower(user_id) || '@ended.invalid' where email is null;
    alter table users alter column email set not null;
    drop index users_by_email;
    alter table users add constraint users_email_key unique (email);
  `)
}
