import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table activity
      -- The place of a committed entry in the log; null until a process of the API has given it one.
      add column leaf_index bigint,
      -- An erased entry has lost its salts, so that its hashes cannot be compared with guesses.
      add column salt bytea,
      add column detail_hash bytea,
      add column operator_salt bytea,
      add column operator_hash bytea,
      -- As precise as the API shows it, so that a reader can hash what it was given.
      alter column at set default date_trunc('milliseconds', now());
    create unique index activity_by_leaf on activity (leaf_index);
    create index activity_without_leaf on activity (entry_id) where leaf_index is null;

    -- The API must hash an operator's name without being able to read it.
    create function seal_operator() returns trigger language plpgsql as $$
    begin
      new.operator_salt := uuid_send(gen_random_uuid());
      new.operator_hash := sha256(new.operator_salt || convert_to(new.operator, 'UTF8'));
      return new;
    end $$;
    create trigger seal_operator before insert on activity for each row
      when (new.operator is not null) execute function seal_operator();
    update activity a set operator_salt = s.salt, operator_hash = sha256(s.salt || convert_to(operator, 'UTF8'))
    from (select entry_id, uuid_send(gen_random_uuid()) as salt from activity where operator is not null) s
    where s.entry_id = a.entry_id;

    create function activity_keeps_its_leaf() returns trigger language plpgsql as $$
    begin
      raise exception 'entry % has its place in the log', old.entry_id using errcode = 'check_violation';
    end $$;
    create trigger activity_keeps_its_leaf before update on activity for each row
      when (old.leaf_index is not null and current_user = 'integration_api')
      execute function activity_keeps_its_leaf();
    revoke execute on function seal_operator, activity_keeps_its_leaf from public;

    -- The hashes of RFC 6962's tree over all entries. Those of level 0 are the entries'.
    create table activity_tree (
      level    smallint not null,
      position bigint not null,
      hash     bytea not null check (octet_length(hash) = 32),
      primary key (level, position)
    );
    create table activity_heads (
      head_id   bigint generated always as identity primary key,
      tree_size bigint not null,
      root_hash bytea not null check (octet_length(root_hash) = 32),
      at        timestamptz not null default date_trunc('milliseconds', now()),
      -- A JWS; null where the API has no LOG_SIGNING_KEY.
      signed    text
    );

    grant select (leaf_index, salt, detail_hash, operator_hash), update (leaf_index, salt, detail_hash)
      on activity to integration_api;
    grant select, insert on activity_tree to integration_api;
    grant select, insert (tree_size, root_hash, signed) on activity_heads to integration_api;
    grant select (user_id, detail, leaf_index, salt, detail_hash, operator_salt, operator_hash)
      on activity to integration_operator;
    grant select on activity_tree, activity_heads to integration_operator;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop table activity_heads, activity_tree;
    drop trigger activity_keeps_its_leaf on activity;
    drop trigger seal_operator on activity;
    drop function activity_keeps_its_leaf, seal_operator;
    revoke select on activity from integration_operator;
    grant select (entry_id, vendor_id, operator, action, subject, at) on activity to integration_operator;
    alter table activity
      alter column at set default now(),
      drop column leaf_index, drop column salt, drop column detail_hash,
      drop column operator_salt, drop column operator_hash;
  `)
}
