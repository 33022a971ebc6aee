-- Whoever opens a link that was mailed reads the mail of its address.
alter table invitation_links add column is_mailed boolean not null default false;
