import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Has a key that never signed sign from a time on, and records that the schedule did it. The authorization server can
    -- change a key in no other way, and write no other entry.
    create function rotate_signing_key(next text, begins timestamptz, following text) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    begin
      update public.signing_keys k set activates_at = begins
      where k.kid = next and k.activates_at is null
        and not exists (select from public.revoked_signing_keys r where r.kid = k.kid);
      if not found then
        raise exception 'the key % is not on standby', next using errcode = 'check_violation';
      end if;
      insert into public.activity (vendor_id, action, subject, detail, operator)
      select null, 'signing_key.rotated', next, jsonb_build_object('standby', k.kid, 'alg', k.alg), 'auth (schedule)'
      from public.signing_keys k where k.kid = following and k.activates_at is null;
      if not found then
        raise exception 'the key % is not on standby', following using errcode = 'check_violation';
      end if;
    end $$;
    revoke execute on function rotate_signing_key from public;
    grant execute on function rotate_signing_key to integration_auth;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('drop function rotate_signing_key')
}
