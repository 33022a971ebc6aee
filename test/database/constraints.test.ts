import assert from 'node:assert/strict'
import { sharedDatabase } from '../support/database.ts'
import { parseYaml } from '../support/deployment.ts'
import { read } from '../support/project.ts'

const REFUSED: Record<string, Record<string, string>> = parseYaml(read('test/database/refused.yaml'))
const SECRET_HASH = `decode(repeat('00', 32), 'hex')`

describe('the database, whoever asks', () => {
  const database = sharedDatabase()
  before(() =>
    database.owner.raw(`
      insert into companies values ('ven_a', 'A', 'UTC', 'EUR'), ('ven_b', 'B', 'UTC', 'EUR');
      insert into companies values ('ven_e', 'Erased', 'UTC', 'EUR', now(), now());
      insert into users values ('usr_a', 'a@a.example', 'A', '$argon2id$'), ('usr_b', 'b@a.example', 'B', '$argon2id$'),
        ('usr_c', 'c@a.example', 'C', '$argon2id$');
      insert into memberships values ('ven_a', 'usr_a', 'owner'), ('ven_a', 'usr_c', 'member');
      insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
        select id, 'ven_a', 'n', '{}', ${SECRET_HASH} from unnest('{cli_aaaaaaaaaaaaaaaaaaaaaa,cli_bbbbbbbbbbbbbbbbbbbbbb,cli_eeeeeeeeeeeeeeeeeeeeee}'::text[]) id;
      insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
        values ('cli_dddddddddddddddddddddd', 'ven_b', 'n', '{}', ${SECRET_HASH});
      insert into oauth_clients (client_id, vendor_id, name, secret_hash, scopes, replaces)
        values ('cli_ffffffffffffffffffffff', 'ven_a', 'n', ${SECRET_HASH}, '{}', 'cli_eeeeeeeeeeeeeeeeeeeeee');
      insert into oauth_clients (client_id, vendor_id, name, scopes, public_key, key_thumbprint)
        values ('cli_gggggggggggggggggggggg', 'ven_a', 'n', '{}', '{"kty":"EC"}', repeat('x', 43));
      insert into oauth_clients (client_id, vendor_id, name, scopes, workload_issuer, workload_claims)
        values ('cli_hhhhhhhhhhhhhhhhhhhhhh', 'ven_a', 'n', '{}', 'https://i.example', '{"sub":"a"}');
      insert into workload_issuers (vendor_id, issuer, keys_from, keys, keys_as_of, attempted_at)
        values ('ven_a', 'https://i.example', 'issuer', '[{"kty":"EC"}]', now(), now());
      insert into invitations (vendor_id, user_id, email, name, role, invited_by, created_at, expires_at)
        values ('ven_a', 'usr_i', 'i@a.example', 'X', 'member', 'usr_a', now(), now());
      insert into restore_fences (reason) values ('one');
      insert into services values ('svc_aaaaaaaaaaaaaaaaaaaaaa', 'Boost', ${SECRET_HASH}, now(), now());
      update oauth_clients set status = 'Revoked' where client_id = 'cli_bbbbbbbbbbbbbbbbbbbbbb';
      update oauth_clients set secret_found_at = now(), secret_found_source = 'a' where client_id = 'cli_eeeeeeeeeeeeeeeeeeeeee';
      insert into revoked_tokens values ('jti', 'cli_aaaaaaaaaaaaaaaaaaaaaa', now(), now());
      insert into analytics_event_ids values ('ven_a', 'seen');
    `),
  )

  for (const [state, refused] of Object.entries(REFUSED))
    for (const [what, sql] of Object.entries(refused))
      it(`refuses ${what}`, () => assert.rejects(database.owner.raw(sql), { code: state }))
})
