import { assertPrimary, FENCED } from '#shared/revocation/fence.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

/** What authenticating a service takes that may introspect tokens. */
export interface ServiceCredentials {
  /** SHA-256 of its secret, 32 bytes. */
  secretHash: Buffer
  isRevoked: boolean
}

/**
 * Returns for each id, in their order, the service's credentials, undefined when no service has that id.
 * @throws as `assertPrimary`, when the database may not know that one is revoked.
 */
export async function readServiceCredentials(
  db: Queryable,
  serviceIds: readonly string[],
): Promise<(ServiceCredentials | undefined)[]> {
  const { rows } = await db.raw(
    `select pg_is_in_recovery() as standby, ${FENCED} as restored, secret_hash as "secretHash",
       revoked_at is not null as "isRevoked"
     from unnest(?::text[]) with ordinality as asked (service_id, place) left join services using (service_id)
     order by place`,
    [serviceIds as string[]],
  )
  assertPrimary(rows[0])
  return rows.map((row: ServiceCredentials) => (row.secretHash ? row : undefined))
}
