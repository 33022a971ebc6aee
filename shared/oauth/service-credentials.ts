import { assertPrimary, FENCED } from '#shared/revocation/records.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

/** What authenticating a service takes that may introspect tokens. */
export interface ServiceCredentials {
  serviceId: string
  /** SHA-256 of its secret, 32 bytes. */
  secretHash: Buffer
  isRevoked: boolean
}

/**
 * @returns for each id, in their order, the service's credentials, or undefined when no service has that id.
 * @throws StandbyError, RestoredError when the database may not know that one is revoked.
 */
export async function readServiceCredentials(
  db: Queryable,
  serviceIds: readonly string[],
): Promise<(ServiceCredentials | undefined)[]> {
  const { rows } = await db.raw(
    `select pg_is_in_recovery() as standby, ${FENCED} as restored, services.service_id as "serviceId",
       secret_hash as "secretHash", revoked_at is not null as "isRevoked"
     from unnest(?::text[]) as asked (service_id) left join services using (service_id)`,
    [serviceIds as string[]],
  )
  assertPrimary(rows[0])
  const found = new Map((rows as ServiceCredentials[]).map((service) => [service.serviceId, service]))
  return serviceIds.map((serviceId) => found.get(serviceId))
}
