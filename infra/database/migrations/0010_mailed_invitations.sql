alter table invitation_links add column is_mailed boolean not null default false; -- Then its mail is theirs.
