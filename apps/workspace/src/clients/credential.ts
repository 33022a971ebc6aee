import type { OAuthClient } from '../api/contract.ts'
import type { KeyAlgorithm } from './key-pair.ts'
import type { ClientWorkload } from './platforms.ts'

/** How a client authenticates. */
export type AuthMethod = OAuthClient['authMethod']

export interface KeyCredential {
  method: 'private_key_jwt'
  algorithm: KeyAlgorithm
  /** PKCS #8, PEM. Only of a key that was created here. */
  privateKey?: string
  /** By default it is called after the client. */
  keyFile?: string
}

/** What a client authenticates with, or what stands for a secret that is no longer known. */
export type Credential =
  | { method: 'client_secret'; secret: string }
  | KeyCredential
  | { method: 'workload_identity'; workload: ClientWorkload }

const CREDENTIAL_NAMES = {
  client_secret: 'secret',
  private_key_jwt: 'key',
  workload_identity: 'workload',
} as const satisfies Record<AuthMethod, string>

type Authenticating = Pick<OAuthClient, 'authMethod'>

/** What the client authenticates with, as a noun. */
export const credentialName = ({ authMethod }: Authenticating): string => CREDENTIAL_NAMES[authMethod]

/** A workload has nothing that a rotation would change, but it can be replaced. */
export const rotationName = (client: Authenticating): string =>
  client.authMethod === 'workload_identity' ? 'Replace the client' : `Rotate the ${credentialName(client)}`
