import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- The table also holds what operators do to the service as a whole, which belongs to no company. So an entry is
    -- identified by its number alone. The indexes come first: they let others read while they are built.
    create unique index activity_by_number on activity (entry_id);
    create index activity_by_company on activity (vendor_id, entry_id);
    alter table activity
      drop constraint activity_pkey,
      add constraint activity_pkey primary key using index activity_by_number,
      alter column vendor_id drop not null,
      -- null: a person did it, or an operator whose name was not recorded yet
      add column operator text check (char_length(operator) between 1 and 100),
      add constraint activity_by_one check (user_id is null or operator is null),
      add constraint activity_of_company check (vendor_id is not null or operator is not null);

    -- The API can neither write an entry in an operator's name nor read that name.
    revoke select on activity from integration_api;
    grant select (entry_id, vendor_id, user_id, action, subject, detail, at) on activity to integration_api;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    delete from activity where vendor_id is null;
    create unique index activity_by_company_and_number on activity (vendor_id, entry_id);
    alter table activity
      drop column operator,
      drop constraint activity_pkey,
      alter column vendor_id set not null,
      add constraint activity_pkey primary key using index activity_by_company_and_number;
    drop index activity_by_company;
    grant select on activity to integration_api;
  `)
}
