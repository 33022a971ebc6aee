import type { OAuthClient } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { ScopeName } from '../ui/ScopeName.tsx'

export const Status = ({ client }: { client: Pick<OAuthClient, 'status'> }) => (
  <span className={`status status-${client.status.toLowerCase()}`}>{client.status}</span>
)

export const LastUsed = ({ client }: { client: Pick<OAuthClient, 'lastUsedAt'> }) =>
  client.lastUsedAt ? <Ago at={client.lastUsedAt} /> : <span className="quiet">Never used</span>

export const Scopes = ({ scopes }: { scopes: OAuthClient['scopes'] }) => (
  <ul className="scopes">
    {scopes.map((scope) => (
      <li key={scope}>
        <ScopeName scope={scope} />
      </li>
    ))}
  </ul>
)
