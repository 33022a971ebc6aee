-- What people did, and operators: for a company, or for the service as a whole.
create table activity (
  entry_id  bigint generated always as identity primary key,
  -- null: an operator's act that concerns no company
  vendor_id text references companies,
  -- null: an operator, or the service
  user_id   text references users,
  operator  text check (char_length(operator) between 1 and 100),
  action    text not null check (char_length(action) between 1 and 60),
  subject   text not null,
  detail    jsonb not null default '{}',
  at        timestamptz not null default date_trunc('milliseconds', now()),
  -- What a cursor of the company's list can name. JavaScript has no larger whole numbers.
  constraint activity_in_range check (entry_id between 1 and 9007199254740991
    and at >= '0001-01-01Z' and at < '10000-01-01Z'),
  constraint activity_by_one check (user_id is null or operator is null),
  constraint activity_of_company check (vendor_id is not null or operator is not null)
);
create index activity_by_company on activity (vendor_id, at, entry_id);
create index activity_by_user on activity (vendor_id, coalesce(user_id, ''), at, entry_id);
create index activity_by_action on activity (vendor_id, action, at, entry_id);
create index activity_by_subject on activity (vendor_id, subject, at, entry_id);
create index activity_by_address on activity (vendor_id, (detail->>'email'))
  where action in ('person.removed', 'person.invited', 'person.added', 'person.joined');
create index activity_of_erasures on activity (subject)
  where action in ('person.erased', 'company.erased') and operator is not null;
