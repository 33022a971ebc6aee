import { type Operator, record } from '#shared/accounts/activity.ts'
import { hashSecret } from '#shared/oauth/ids.ts'
import { newClientSecret, newServiceId } from '#shared/oauth/new-ids.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { OperatorError } from './operator.ts'

/** A service that may introspect tokens. */
export interface Service {
  serviceId: string
  name: string
  createdAt: Date
  revokedAt: Date | null
}

const SERVICE = 'service_id as "serviceId", name, created_at as "createdAt", revoked_at as "revokedAt"'
const NAME = /^[^\p{C}]{1,100}$/u

/**
 * Registers a service. Its secret is returned only here: the database has its hash.
 * @throws OperatorError if the name is not 1 to 100 printable characters.
 */
export async function createService(
  db: Database,
  { name, by }: { name: string; by: Operator },
): Promise<Service & { serviceSecret: string }> {
  if (!NAME.test(name) || name.trim() === '')
    throw new OperatorError('The name must be 1 to 100 printable characters.')
  const serviceSecret = newClientSecret()
  return db.transaction(async (transaction) => {
    const { rows } = await transaction.raw(
      `insert into services (service_id, name, secret_hash) values (?, ?, ?) returning ${SERVICE}`,
      [newServiceId(), name, hashSecret(serviceSecret)],
    )
    const [service] = rows
    await record(transaction, { vendorId: null, by }, 'service.created', service.serviceId, { name })
    return { ...service, serviceSecret }
  })
}

/** Lists every service, newest first. */
export async function listServices(db: Database): Promise<Service[]> {
  const { rows } = await db.raw(`select ${SERVICE} from services order by created_at desc, service_id`)
  return rows
}

/**
 * Revokes a service permanently. It can be repeated; only the first time is recorded.
 * @throws OperatorError if there is no such service.
 */
export async function revokeService(
  db: Database,
  { serviceId, by }: { serviceId: string; by: Operator },
): Promise<Service> {
  return db.transaction(async (transaction) => {
    const { rowCount } = await transaction.raw(
      'update services set revoked_at = clock_timestamp() where service_id = ? and revoked_at is null',
      [serviceId],
    )
    const { rows } = await transaction.raw(`select ${SERVICE} from services where service_id = ?`, [
      serviceId,
    ])
    const [service] = rows
    if (!service) throw new OperatorError(`There is no service ${serviceId}.`)
    if (rowCount === 1)
      await record(transaction, { vendorId: null, by }, 'service.revoked', serviceId, { name: service.name })
    return service
  })
}
