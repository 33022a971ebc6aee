-- No statement looks for sessions by their last use, and with this index each update of that time would write
-- to every index of the table. Revoked signing keys are few, and each reader reads them all.
drop index sessions_by_use;
drop index revoked_signing_keys_by_time;
