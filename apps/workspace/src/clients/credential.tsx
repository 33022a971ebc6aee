import type { OAuthClient } from '../api/contract.ts'

type Keyed = Pick<OAuthClient, 'authMethod' | 'keyThumbprint' | 'secretHint'>

/** What the client authenticates with, as a noun. */
export const credentialName = ({ authMethod }: Pick<OAuthClient, 'authMethod'>): 'key' | 'secret' =>
  authMethod === 'private_key_jwt' ? 'key' : 'secret'

/** Enough to tell a company's keys apart. */
const THUMBPRINT_SHOWN = 8

/** By what a person recognizes the secret or the key, as short as it can be. */
export function CredentialHint({ client }: { client: Keyed }) {
  const { keyThumbprint, secretHint } = client
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
