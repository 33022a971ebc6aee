import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { OAuthClient } from '../api/contract.ts'
import { SCREENS, useCompany } from '../shell/company.ts'
import { CopyButton } from '../ui/CopyButton.tsx'
import { CloseIcon, MoreIcon, RotateIcon } from '../ui/icons.tsx'
import { Menu, MenuItem } from '../ui/Menu.tsx'
import { day } from '../ui/time.ts'
import { RevokeClient } from './RevokeClient.tsx'
import { LastUsed, Scopes, Status } from './Status.tsx'

export function ClientsTable({ clients }: { clients: OAuthClient[] }) {
  const [revoking, setRevoking] = useState<OAuthClient>()
  return (
    <>
      <table className="table clients-table">
        <caption className="off-screen">OAuth2 clients, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Client</th>
            <th scope="col">Scopes</th>
            <th scope="col">Status</th>
            <th scope="col">Last used</th>
            <th scope="col" className="number">
              Tokens, 24 h
            </th>
            <th scope="col">Added</th>
            <th scope="col">
              <span className="off-screen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {clients.map((client) => (
            <ClientRow key={client.clientId} client={client} onRevoke={() => setRevoking(client)} />
          ))}
        </tbody>
      </table>
      {revoking && <RevokeClient client={revoking} onClose={() => setRevoking(undefined)} />}
    </>
  )
}

function ClientRow({ client, onRevoke }: { client: OAuthClient; onRevoke: () => void }) {
  const { to } = useCompany()
  const [, navigate] = useLocation()
  const href = `${to(SCREENS.clients)}/${client.clientId}`
  return (
    <tr className={client.status === 'Revoked' ? 'row-off' : undefined}>
      <th scope="row" className="client-cell">
        <Link className="client-name" href={href}>
          <bdi>{client.name}</bdi>
        </Link>
        <span className="client-id">
          <code>{client.clientId}</code>
          <CopyButton text={client.clientId} what={`client id of ${client.name}`} />
        </span>
      </th>
      <td data-label="Scopes">
        <Scopes scopes={client.scopes} />
      </td>
      <td data-label="Status">
        <Status client={client} />
      </td>
      <td data-label="Last used">
        <LastUsed client={client} />
      </td>
      <td data-label="Tokens, 24 h" className="number">
        {client.tokensIssued24h.toLocaleString('en')}
      </td>
      <td data-label="Added">
        <span className="cell-lines">
          <time dateTime={client.createdAt}>{day(new Date(client.createdAt))}</time>
          <bdi className="small quiet">{client.createdBy?.name ?? 'operator'}</bdi>
        </span>
      </td>
      <td className="row-actions">
        {client.status === 'Active' && (
          <Menu
            trigger={
              <button type="button" className="icon-button" aria-label={`Actions for ${client.name}`}>
                <MoreIcon />
              </button>
            }
          >
            <MenuItem icon={<RotateIcon />} onSelect={() => navigate(`${href}/rotate`)}>
              Rotate the secret
            </MenuItem>
            <MenuItem icon={<CloseIcon />} danger onSelect={onRevoke}>
              Revoke
            </MenuItem>
          </Menu>
        )}
      </td>
    </tr>
  )
}

export const ClientsTableSkeleton = () => (
  <div className="rows-skeleton" aria-hidden="true">
    {[1, 2, 3, 4, 5].map((row) => (
      <div key={row}>
        <span />
        <span />
      </div>
    ))}
  </div>
)
