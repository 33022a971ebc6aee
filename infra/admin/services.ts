import { hashSecret } from '#shared/oauth/ids.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { type OperatorActor, recordActivity } from '../../apps/api/accounts/activity.ts'
import { newClientSecret, newServiceId } from '../../apps/api/accounts/new-ids.ts'
import { oneLine } from '../../apps/api/http/input.ts'
import { type CommandGroup, formatTable, required } from './commands.ts'
import { parseName } from './new-person.ts'
import { OperatorError } from './operator.ts'

/** A service that may introspect tokens. */
export interface RegisteredService {
  serviceId: string
  name: string
  createdAt: Date
  revokedAt: Date | null
}

const SERVICE = 'service_id as "serviceId", name, created_at as "createdAt", revoked_at as "revokedAt"'
const TITLES = { serviceId: 'SERVICE ID', name: 'NAME', createdAt: 'CREATED', revokedAt: 'REVOKED' }
const NAME = oneLine(1, 100)

export const SERVICES: CommandGroup = {
  name: 'service',
  plural: 'services',
  description: 'Services of your own that ask the authorization server whether a token is live',
  commands: [
    {
      name: 'create',
      description: 'Register a service, and show its secret. The secret cannot be shown again.',
      example: 'service create --name "Boost campaigns"',
      options: [required('--name <name>', 'name of the service, for people')],
      async run({ db, by }, { name }: { name: string }) {
        const service = await registerService(db, { name, by })
        const { serviceId, serviceSecret } = service
        return { text: `Service ID: ${serviceId}\nService secret: ${serviceSecret}`, data: service }
      },
    },
    {
      name: 'list',
      description: 'List the services, newest first',
      example: 'service list',
      async run({ db }) {
        const { rows: services } = await db.raw(
          `select ${SERVICE} from services order by created_at desc, service_id`,
        )
        const text = formatTable<RegisteredService>(services, TITLES, 'There are no services yet.')
        return { text, data: services }
      },
    },
    {
      name: 'revoke',
      description: 'Revoke a service permanently. Its next request is refused.',
      example: 'service revoke svc_3I06m0bG6ejtvuyLqFZSbl',
      args: ['service_id'],
      async effect({ db }, { serviceId }: { serviceId: string }) {
        const { name } = await requireService(db, serviceId)
        return `${serviceId} (${name}) will be revoked permanently. It learns nothing about tokens any more.`
      },
      async run({ db, by }, { serviceId }: { serviceId: string }) {
        const service = await revokeService(db, { serviceId, by })
        return { text: `${serviceId} (${service.name}) is revoked.`, data: service }
      },
    },
  ],
}

/**
 * Registers a service. Its secret is returned only here: the database has its hash.
 * @throws OperatorError that says what is wrong with the name.
 */
export async function registerService(
  db: Database,
  { name: text, by }: { name: string; by: OperatorActor },
): Promise<RegisteredService & { serviceSecret: string }> {
  const name = parseName(text, NAME)
  const serviceSecret = newClientSecret()
  return db.transaction(async (transaction) => {
    const { rows } = await transaction.raw(
      `insert into services (service_id, name, secret_hash) values (?, ?, ?) returning ${SERVICE}`,
      [newServiceId(), name, hashSecret(serviceSecret)],
    )
    const [service] = rows
    await recordActivity(transaction, { vendorId: null, by }, 'service.created', service.serviceId, { name })
    return { ...service, serviceSecret }
  })
}

/**
 * Revokes a service permanently. It can be repeated; only the first time is recorded.
 * @throws OperatorError if there is no such service.
 */
export async function revokeService(
  db: Database,
  { serviceId, by }: { serviceId: string; by: OperatorActor },
): Promise<RegisteredService> {
  return db.transaction(async (transaction) => {
    const { rowCount } = await transaction.raw(
      'update services set revoked_at = clock_timestamp() where service_id = ? and revoked_at is null',
      [serviceId],
    )
    const service = await requireService(transaction, serviceId)
    if (rowCount === 1)
      await recordActivity(transaction, { vendorId: null, by }, 'service.revoked', serviceId, {
        name: service.name,
      })
    return service
  })
}

async function requireService(db: Queryable, serviceId: string): Promise<RegisteredService> {
  const { rows } = await db.raw(`select ${SERVICE} from services where service_id = ?`, [serviceId])
  if (!rows[0]) throw new OperatorError(`There is no service ${serviceId}.`)
  return rows[0]
}
