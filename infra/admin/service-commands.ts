import type { Command } from 'commander'
import { command, group, type Run, shownTime, table } from './commands.ts'
import { createService, listServices, revokeService } from './services.ts'

/** Services that may introspect tokens. */
export function addServiceCommands(program: Command, run: Run): void {
  const services = group(
    program,
    'service',
    'Services of your own that ask the authorization server whether a token is live',
    'services',
  )
  command(
    services,
    'create',
    'Register a service, and show its secret. The secret cannot be shown again.',
    'service create --name "Boost campaigns"',
  )
    .requiredOption('--name <name>', 'name of the service, for people')
    .action(({ name }: { name: string }) =>
      run(async ({ db, by }) => {
        const service = await createService(db, { name, by })
        const { serviceId, serviceSecret } = service
        return { text: `Service ID: ${serviceId}\nService secret: ${serviceSecret}`, data: service }
      }),
    )
  command(services, 'list', 'List the services, newest first', 'service list').action(() =>
    run(async ({ db }) => {
      const found = await listServices(db)
      const rows = found.map((service) => [
        service.serviceId,
        service.name,
        shownTime(service.createdAt),
        shownTime(service.revokedAt),
      ])
      const titles = ['SERVICE ID', 'NAME', 'CREATED', 'REVOKED']
      return { text: table(titles, rows, 'There are no services yet.'), data: found }
    }),
  )
  command(
    services,
    'revoke',
    'Revoke a service permanently. Its next request is refused.',
    'service revoke svc_3I06m0bG6ejtvuyLqFZSbl',
  )
    .argument('<service_id>')
    .action((serviceId: string) =>
      run(async ({ db, by }) => {
        const service = await revokeService(db, { serviceId, by })
        return { text: `${serviceId} (${service.name}) is revoked.`, data: service }
      }),
    )
}
