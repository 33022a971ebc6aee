import type { Queryable } from './postgres.ts'

/** Notes that a token is revoked, at the database's own time. Again is no error. */
export async function insertRevokedToken(
  db: Queryable,
  { jti, clientId, expiresAt }: { jti: string; clientId: string; expiresAt: Date },
): Promise<void> {
  await db.raw(
    `insert into revoked_tokens (jti, client_id, revoked_at, expires_at) values (?, ?, clock_timestamp(), ?)
     on conflict (jti) do nothing`,
    [jti, clientId, expiresAt],
  )
}
