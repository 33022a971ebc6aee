import { Option } from 'commander'
import { type ClientRecord, findClient, listClients } from '../../apps/api/clients/records.ts'
import { revokeClient } from '../../apps/api/clients/revoke-client.ts'
import { type CommandGroup, formatTable } from './commands.ts'
import { requireCompany } from './companies.ts'
import { OperatorError } from './operator.ts'

const TITLES = {
  clientId: 'CLIENT ID',
  status: 'STATUS',
  name: 'NAME',
  scopes: 'SCOPES',
  keyThumbprint: 'KEY',
  createdAt: 'CREATED',
  expiresAt: 'EXPIRES',
  revokedAt: 'REVOKED',
}

export const CLIENTS: CommandGroup = {
  name: 'client',
  plural: 'clients',
  description: 'OAuth2 clients',
  commands: [
    {
      name: 'list',
      description: 'List the clients of a company, newest first',
      example: 'client list ven_acme --status Active',
      args: ['vendor_id'],
      options: [
        new Option('--status <status>', 'only clients with this status').choices(['Active', 'Revoked']),
      ],
      async run({ db }, { vendorId, status }: { vendorId: string; status?: 'Active' | 'Revoked' }) {
        await requireCompany(db, vendorId)
        const clients = await listClients(db, { vendorId, status, after: undefined, limit: null })
        return { text: formatTable(clients, TITLES, 'No matching clients.'), data: clients.map(clientData) }
      },
    },
    {
      name: 'revoke',
      description:
        'Revoke a client permanently. Once the command returns, every process rejects the client and its ' +
        'tokens. This takes up to six seconds if Redis is not available or not trusted.',
      progress: 'Revoking the client at every process',
      example: 'client revoke ven_acme cli_3I06m0bG6ejtvuyLqFZSbl',
      args: ['vendor_id', 'client_id'],
      async effect({ db }, { vendorId, clientId }: { vendorId: string; clientId: string }) {
        await requireCompany(db, vendorId)
        const client = await findClient(db, { vendorId, clientId })
        if (!client) throw noSuchClient(vendorId, clientId)
        const { name, status } = client
        return (
          `${clientId} (${name}) of ${vendorId}, which is ${status}, will be revoked permanently, with all ` +
          'its tokens.'
        )
      },
      /** Can be repeated, with the same guarantee. */
      async run({ db, by, revocation }, { vendorId, clientId }: { vendorId: string; clientId: string }) {
        const services = revocation()
        await requireCompany(db, vendorId)
        const client = await revokeClient(services, { vendorId, clientId, revokedBy: by })
        if (!client) throw noSuchClient(vendorId, clientId)
        return { text: `${clientId} (${client.name}) is revoked everywhere.`, data: clientData(client) }
      },
    },
  ],
}

const noSuchClient = (vendorId: string, clientId: string) =>
  new OperatorError(`${vendorId} has no client ${clientId}.`)

const clientData = (client: ClientRecord) => ({
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
