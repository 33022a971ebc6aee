import { type Command, Option } from 'commander'
import type { ClientRecord } from '#shared/oauth/clients.ts'
import { allClients, revokeClient } from './clients.ts'
import { command, group, type Run, shownTime, table } from './commands.ts'

/** OAuth 2.0 clients of a company. */
export function addClientCommands(program: Command, run: Run): void {
  const clients = group(program, 'client', 'OAuth2 clients', 'clients')
  command(
    clients,
    'list',
    'List the clients of a company, newest first',
    'client list ven_acme --status Active',
  )
    .argument('<vendor_id>')
    .addOption(
      new Option('--status <status>', 'only clients with this status').choices(['Active', 'Revoked']),
    )
    .action((vendorId: string, { status }: { status?: 'Active' | 'Revoked' }) =>
      run(async ({ db }) => {
        const found = await allClients(db, { vendorId, status })
        const rows = found.map((client) => [
          client.clientId,
          client.status,
          client.name,
          client.scopes.join(' '),
          client.keyThumbprint ?? '-',
          shownTime(client.createdAt),
          shownTime(client.expiresAt),
          shownTime(client.revokedAt),
        ])
        const titles = ['CLIENT ID', 'STATUS', 'NAME', 'SCOPES', 'KEY', 'CREATED', 'EXPIRES', 'REVOKED']
        return { text: table(titles, rows, 'No matching clients.'), data: found.map(shown) }
      }),
    )
  command(
    clients,
    'revoke',
    'Revoke a client permanently. Once the command returns, every process rejects the client and its tokens. This takes up to six seconds if Redis is not available or not trusted.',
    'client revoke ven_acme cli_3I06m0bG6ejtvuyLqFZSbl',
  )
    .argument('<vendor_id>')
    .argument('<client_id>')
    .action((vendorId: string, clientId: string) =>
      run(async (operator) => {
        const services = { db: operator.db, revocation: operator.revocation() }
        const client = await revokeClient(services, { vendorId, clientId, by: operator.by })
        return { text: `${clientId} (${client.name}) is revoked everywhere.`, data: shown(client) }
      }),
    )
}

const shown = (client: ClientRecord) => ({
  clientId: client.clientId,
  name: client.name,
  scopes: client.scopes,
  keyThumbprint: client.keyThumbprint,
  status: client.status,
  createdAt: client.createdAt,
  createdBy: client.createdBy,
  expiresAt: client.expiresAt,
  revokedAt: client.revokedAt,
  revokedBy: client.revokedBy,
})
