-- Roles belong to the whole server. The migration of another database may have created them.
do $$
declare
  wanted text;
begin
  perform pg_advisory_xact_lock(hashtextextended('integration roles', 0));
  foreach wanted in array array['integration_auth', 'integration_api', 'integration_operator'] loop
    if not exists (select from pg_roles where rolname = wanted) then
      execute format('create role %I nologin', wanted);
    end if;
  end loop;
end $$;

create table companies (
  vendor_id  text primary key check (vendor_id ~ '^ven_[A-Za-z0-9]{1,60}$'),
  name       text not null check (char_length(name) between 1 and 200),
  timezone   text not null,
  currency   text not null check (currency ~ '^[A-Z]{3}$'),
  created_at timestamptz not null default now(),
  -- The row of an erased company stays, since its clients must stay revoked and its id must not be reused.
  erased_at  timestamptz
);

-- An address is not an identity. Several companies may each have an account for the same address.
create table users (
  user_id       text primary key check (user_id ~ '^usr_[A-Za-z0-9]{1,60}$'),
  -- null: the account has ended, and its address is free.
  email         text check (email = lower(email) and char_length(email) between 3 and 254),
  name          text not null check (char_length(name) between 1 and 200),
  password_hash text not null check (password_hash like '$argon2id$%'),
  created_at    timestamptz not null default now()
);
create index users_by_email on users (email);

create table memberships (
  vendor_id text not null references companies,
  user_id   text not null references users,
  role      text not null check (role in ('owner', 'admin', 'viewer', 'member')),
  status    text not null default 'active' check (status in ('active', 'suspended')),
  primary key (user_id, vendor_id),
  check (not (role = 'owner' and status = 'suspended'))
);
create unique index one_owner_per_company on memberships (vendor_id) where role = 'owner';
create index memberships_by_company on memberships (vendor_id);

create table sessions (
  token_hash       bytea primary key check (octet_length(token_hash) = 32),
  user_id          text not null references users,
  created_at       timestamptz not null,
  expires_at       timestamptz not null,
  -- names a session to its user; it cannot be used in place of the token
  session_id       text not null default 'sid_' || replace(gen_random_uuid()::text, '-', '') unique,
  last_seen_at     timestamptz not null default now(),
  -- When the person last authenticated. null: when the session began.
  authenticated_at timestamptz,
  address          text check (char_length(address) <= 60),
  user_agent       text check (char_length(user_agent) <= 200),
  -- The OpenID provider that the person signed in with. null: a password or an invitation.
  openid_issuer    text check (char_length(openid_issuer) between 1 and 2000)
);
create index sessions_by_user on sessions (user_id, created_at desc, session_id desc);
create index sessions_by_expiry on sessions (expires_at);
create index sessions_by_use on sessions (last_seen_at);

-- Addresses that a person has lately signed in from. Failures elsewhere must not lock that person out.
create table sign_in_addresses (
  user_id text not null references users,
  address text not null check (char_length(address) <= 60),
  last_at timestamptz not null,
  primary key (user_id, address)
);
-- For the purges of addresses and browsers, which keep them for different times
create index sign_in_addresses_by_time on sign_in_addresses (last_at)
  where not starts_with(address, 'browser:');
create index sign_in_browsers_by_time on sign_in_addresses (last_at)
  where starts_with(address, 'browser:');
comment on column sign_in_addresses.address is
  'An address, or "browser:" and the hash of the secret that the browser keeps, or "everywhere".';

-- An invitation ends when it is accepted, withdrawn or replaced, or when it expires.
create table invitations (
  -- Names the invitation in the list of people. Someone without an account gets it as user id.
  user_id    text primary key check (user_id ~ '^usr_[A-Za-z0-9]{1,60}$'),
  vendor_id  text not null references companies,
  email      text not null check (email = lower(email) and char_length(email) between 3 and 254),
  name       text not null check (char_length(name) between 1 and 200),
  role       text not null check (role in ('admin', 'viewer', 'member')),
  invited_by text not null references users,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  unique (vendor_id, email)
);
create index invitations_by_expiry on invitations (expires_at);

-- A mail that goes twice has a link each time, and every one works.
create table invitation_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id    text not null references invitations on delete cascade
);
create index invitation_links_by_invitation on invitation_links (user_id);

-- Links to set a new password.
create table password_resets (
  token_hash   bytea primary key check (octet_length(token_hash) = 32),
  user_id      text not null references users,
  -- A later request ends the links of earlier ones.
  requested_at timestamptz not null,
  expires_at   timestamptz not null
);
create index password_resets_by_user on password_resets (user_id);
create index password_resets_by_expiry on password_resets (expires_at);


-- A person's identity at an OpenID provider. The subject alone identifies: addresses and names change.
create table openid_identities (
  issuer     text not null check (char_length(issuer) between 1 and 2000),
  subject    text not null check (char_length(subject) between 1 and 255),
  user_id    text not null references users,
  created_at timestamptz not null default now(),
  primary key (issuer, subject),
  unique (user_id, issuer)
);

-- What is to be mailed, and for a while that it was. A link that is a credential is made when its mail goes.
create table mails (
  mail_id    uuid primary key default gen_random_uuid(),
  kind       text not null check (kind ~ '^[a-z_]{1,40}$'),
  -- What it is about. Nobody gets two mails of a kind about the same.
  topic      text not null check (char_length(topic) between 1 and 2100),
  -- Whom it is for: a user, or the user id of an invitation. null: whoever has the address in `detail`.
  user_id    text check (user_id ~ '^usr_[A-Za-z0-9]{1,60}$'),
  -- The company that it is about. null: the person's account.
  vendor_id  text references companies,
  detail     jsonb not null,
  is_urgent  boolean not null,
  created_at timestamptz not null default now(),
  -- When to try next; while a process sends it, when another may try. null: sent, or given up.
  due_at     timestamptz default now(),
  -- Of the mails that are due, the one with the earliest turn goes first.
  turn_at    timestamptz not null default now(),
  -- When the mail server took it.
  sent_at    timestamptz,
  attempts   integer not null default 0,
  -- The process that sends it.
  sender     uuid
);
create unique index mails_once on mails (user_id, kind, md5(topic));
create index mails_due on mails (is_urgent desc, turn_at) where due_at is not null;
create index mails_in_progress on mails (sender) where sender is not null;
create index mails_by_time on mails (created_at);
create index mails_by_company on mails (vendor_id, turn_at);

-- Whoever sets a password, even the same one or one that no one knows, ends the links and those on their way.
create function end_password_resets() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from public.password_resets where user_id = new.user_id;
  delete from public.mails where user_id = new.user_id and kind = 'password_reset' and due_at is not null;
  return null;
end $$;
create trigger end_password_resets after update of password_hash on users
  for each row execute function end_password_resets();

-- Turns an email address into the name under which failed sign-ins are logged. One row.
create table account_log_key (
  only_row boolean primary key default true check (only_row),
  key      bytea not null default
    sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'))
    check (octet_length(key) = 32)
);
insert into account_log_key default values;

-- Seals the cookie of a sign-in that is under way at the provider. One row.
create table openid_cookie_key (
  only_row boolean primary key default true check (only_row),
  key      bytea not null default
    sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'))
    check (octet_length(key) = 32)
);
insert into openid_cookie_key default values;

-- Waits for an erasure in progress, so that no client or member is added after it.
create function company_is_not_erased() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  erased timestamptz;
begin
  select erased_at into erased from public.companies where vendor_id = new.vendor_id for key share;
  if erased is not null then
    raise exception 'company % is erased', new.vendor_id using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger company_is_not_erased before insert on memberships
  for each row execute function company_is_not_erased();
