import type { OAuthClient } from '../api/contract.ts'

import { platformTitle } from './platforms.ts'

type Keyed = Pick<OAuthClient, 'keyThumbprint' | 'secretHint' | 'workload'>

const CREDENTIALS = {
  client_secret: 'secret',
  private_key_jwt: 'key',
  workload_identity: 'workload',
} as const satisfies Record<OAuthClient['authMethod'], string>

/** What the client authenticates with, as a noun. */
export const credentialName = ({ authMethod }: Pick<OAuthClient, 'authMethod'>) => CREDENTIALS[authMethod]

/** A workload has nothing that a rotation would change, but it can be replaced. */
export const rotationName = (client: Pick<OAuthClient, 'authMethod'>): string =>
  client.authMethod === 'workload_identity' ? 'Replace the client' : `Rotate the ${credentialName(client)}`

/** Enough to tell a company's keys apart. */
const THUMBPRINT_SHOWN = 8

/** By what a person recognizes the secret or the key, as short as it can be. */
export function CredentialHint({ client }: { client: Keyed }) {
  const { keyThumbprint, secretHint, workload } = client
  if (workload) {
    return <span title={`Tokens of ${workload.issuer}`}>{platformTitle(workload)} token</span>
  }
  if (keyThumbprint !== null) {
    return (
      <span title={`Key with the thumbprint ${keyThumbprint}`}>
        Key <code>{keyThumbprint.slice(0, THUMBPRINT_SHOWN)}…</code>
      </span>
    )
  }
  return secretHint === null ? (
    'Secret'
  ) : (
    <span title={`Secret that ends in ${secretHint}`}>
      Secret <code>…{secretHint}</code>
    </span>
  )
}
