import type { ClientCredentialsRecord } from '#shared/oauth-clients.ts'
export interface ClientRecords {
  find(clientId: string): Promise<ClientCredentialsRecord | undefined> | ClientCredentialsRecord | undefined
}
