-- What each role may do, and nothing more. revokePublicRights (migrate.ts) takes away what Postgres allows
-- every role.
revoke all on schema public from public;
revoke execute on all functions in schema public from public;
grant usage on schema public to integration_auth, integration_api, integration_operator;
grant execute on function database_place to integration_auth, integration_api, integration_operator;

-- Nothing about people, and only what is needed to authenticate a client.
grant select (client_id, vendor_id, scopes, secret_hash, public_key, workload_issuer, workload_claims,
    workload_platform, expires_at, status, revoked_at) on oauth_clients to integration_auth;
grant select (vendor_id, issuer, keys_from, keys, keys_as_of) on workload_issuers to integration_auth;
grant select, insert on signing_keys to integration_auth;
grant select, insert (jti, client_id, expires_at) on revoked_tokens to integration_auth;
grant select on revoked_signing_keys, revocation_trust to integration_auth;
grant select (lowered_at) on restore_fences to integration_auth;
grant select (service_id, secret_hash, revoked_at) on services to integration_auth;
grant execute on function record_usage to integration_auth;

-- No key, and no secret's hash. The activity is append-only: there is no grant to change or remove an entry,
-- to set its time, or to write or read an operator's name. Only the operator's role can lower a fence.
grant select on companies, account_log_key, openid_cookie_key to integration_api;
grant select, insert (user_id, email, name, password_hash), update (email, password_hash)
  on users to integration_api;
grant select, insert, delete, update (role, status) on memberships to integration_api;
grant select, insert, delete, update (last_seen_at) on sessions to integration_api;
grant select, insert, update, delete on sign_in_addresses to integration_api;
grant select, insert, delete, update (expires_at) on invitations to integration_api;
grant select, insert on invitation_links to integration_api;
grant select, insert, delete on password_resets to integration_api;
grant select, insert (kind, topic, user_id, vendor_id, detail, is_urgent, turn_at), delete,
  update (detail, due_at, sent_at, attempts, sender) on mails to integration_api;
grant select, insert (issuer, subject, user_id) on openid_identities to integration_api;

grant select (client_id, vendor_id, name, scopes, secret_hint, key_thumbprint, workload_issuer,
    workload_claims, workload_platform, expires_at, replaces, status, created_at, created_by, revoked_at,
    revoked_by, secret_found_at, secret_found_source),
  insert, update (name, status, revoked_by) on oauth_clients to integration_api;
grant select, insert, update (keys_from, keys, keys_as_of, attempted_at, failure)
  on workload_issuers to integration_api;
grant execute on function mark_found_secrets, are_workload_claims to integration_api;
grant select, insert, update, delete on client_creation_keys to integration_api;
grant select, insert, update on callback_destinations to integration_api;
grant execute on function record_usage to integration_api;
grant select on client_usage to integration_api;
grant select, delete on client_usage_hourly, client_usage_by_minute, client_address_usage, usage_writers
  to integration_api;

grant select, insert (jti, expires_at) on revoked_tokens to integration_api;
grant execute on function purge_expired_revoked_tokens to integration_api;
grant select on revoked_signing_keys to integration_api;
grant select, update (run_id, since, place) on revocation_trust to integration_api;
grant select, insert (reason) on restore_fences to integration_api;

-- Events, days and revisions are written by one function alone, so that no day changes without its revision.
grant select on analytics_daily, analytics_revisions, analytics_event_ids, analytics_events_default
  to integration_api;
grant execute on function store_analytics_events, create_analytics_event_partitions,
  drop_old_analytics_events, delete_old_default_events, forget_old_analytics_event_ids to integration_api;

grant select (entry_id, vendor_id, user_id, action, subject, detail, at),
  insert (vendor_id, user_id, action, subject, detail) on activity to integration_api;

-- No token of a session or a link, no secret's hash, and no entry in a person's name. A client can be
-- revoked, but not created. A private key is stored encrypted, so reading or planting one takes
-- KEY_ENCRYPTION_KEY too.
grant select (vendor_id, name, timezone, currency, erased_at), insert (vendor_id, name, timezone, currency)
  on companies to integration_operator;
grant select, insert (user_id, email, name, password_hash), update (email, password_hash)
  on users to integration_operator;
grant select, insert, update (role, status) on memberships to integration_operator;
grant select (user_id, session_id, created_at, expires_at, last_seen_at, address, user_agent,
  authenticated_at, openid_issuer), delete on sessions to integration_operator;
grant select, insert, update (last_at), delete on sign_in_addresses to integration_operator;
grant select (vendor_id, user_id, email, name, role, created_at, expires_at), delete
  on invitations to integration_operator;
grant delete on password_resets to integration_operator;
grant select (mail_id, kind, topic, user_id, vendor_id, created_at, due_at),
  insert (kind, topic, user_id, vendor_id, detail, is_urgent, turn_at) on mails to integration_operator;
grant select (issuer, subject, user_id, created_at), delete on openid_identities to integration_operator;

grant select (client_id, vendor_id, name, scopes, status, created_at, created_by, revoked_at, revoked_by,
    secret_hint, replaces, key_thumbprint, workload_issuer, workload_claims, workload_platform,
    expires_at, secret_found_at, secret_found_source),
  update (status, revoked_by) on oauth_clients to integration_operator;
grant execute on function are_workload_claims to integration_operator;
grant select (vendor_id, user_id, idempotency_key, client_id, created_at) on client_creation_keys
  to integration_operator;
grant select (vendor_id, updated_by, updated_at) on callback_destinations to integration_operator;
grant select (service_id, name, created_at, revoked_at), insert (service_id, name, secret_hash),
  update (revoked_at) on services to integration_operator;

grant select, insert, update (activates_at, private_key_encrypted) on signing_keys to integration_operator;
grant select, insert on revoked_signing_keys to integration_operator;
grant select (jti), insert (jti, expires_at) on revoked_tokens to integration_operator;
grant select (run_id, place), update (place, confirmed_at) on revocation_trust to integration_operator;
grant select, insert (reason), update (lowered_at) on restore_fences to integration_operator;

grant execute on function store_analytics_events to integration_operator;
grant select on analytics_daily, analytics_event_ids to integration_operator;

grant select (entry_id, vendor_id, user_id, operator, action, subject, detail, at),
  insert (vendor_id, action, subject, detail, operator) on activity to integration_operator;
grant execute on function erase_from_activity, erase_person, erase_company, company_tables,
  erase_company_rows to integration_operator;
