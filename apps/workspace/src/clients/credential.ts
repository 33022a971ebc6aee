import type { OAuthClient } from '../api/contract.ts'

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
