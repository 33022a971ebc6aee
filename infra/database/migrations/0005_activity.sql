-- What people did, and operators: for a company, or for the service as a whole.
create table activity (
  entry_id      bigint generated always as identity primary key,
  -- null: an operator's act that concerns no company
  vendor_id     text references companies,
  -- null: an operator, or the service
  user_id       text references users,
  operator      text check (char_length(operator) between 1 and 100),
  action        text not null check (char_length(action) between 1 and 60),
  subject       text not null,
  detail        jsonb not null default '{}',
  -- As precise as the API shows it, so that a reader can hash what it was given.
  at            timestamptz not null default date_trunc('milliseconds', now()),
  -- The place of a committed entry in the log; null until a process of the API has given it one.
  leaf_index    bigint,
  -- An erased entry has lost its salts, so that its hashes cannot be compared with guesses.
  salt          bytea,
  detail_hash   bytea,
  operator_salt bytea,
  operator_hash bytea,
  constraint activity_by_one check (user_id is null or operator is null),
  constraint activity_of_company check (vendor_id is not null or operator is not null)
);
create index activity_by_company on activity (vendor_id, entry_id);
create index activity_by_user on activity (vendor_id, user_id, entry_id);
create index activity_by_action on activity (vendor_id, action, entry_id);
create index activity_by_subject on activity (vendor_id, subject, entry_id);
create index activity_by_time on activity (vendor_id, at);
create unique index activity_by_leaf on activity (leaf_index);
create index activity_without_leaf on activity (entry_id) where leaf_index is null;
create index activity_of_erasures on activity (subject)
  where action in ('person.erased', 'company.erased') and operator is not null;

-- The API must hash an operator's name without being able to read it.
create function seal_operator() returns trigger language plpgsql as $$
begin
  new.operator_salt := uuid_send(gen_random_uuid());
  new.operator_hash := sha256(new.operator_salt || convert_to(new.operator, 'UTF8'));
  return new;
end $$;
create trigger seal_operator before insert on activity for each row
  when (new.operator is not null) execute function seal_operator();

create function activity_keeps_its_leaf() returns trigger language plpgsql as $$
begin
  raise exception 'entry % has its place in the log', old.entry_id using errcode = 'check_violation';
end $$;
create trigger activity_keeps_its_leaf before update on activity for each row
  when (old.leaf_index is not null and current_user = 'integration_api')
  execute function activity_keeps_its_leaf();

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
