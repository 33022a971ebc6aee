import type { JWK } from 'jose'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { Scope } from './scopes.ts'

export type ClientStatus = 'Active' | 'Revoked'

/** What authenticating a client takes; the authorization server's role may read nothing else of a client. */
export interface ClientCredentials {
  clientId: string
  vendorId: string
  scopes: Scope[]
  /** SHA-256 of the client secret, 32 bytes. null: the client has a key. */
  secretHash: Buffer | null
  /** The public JWK of a client that authenticates by assertions (RFC 7523). null: the client has a secret. */
  publicKey: JWK | null
  /** From then on it gets no tokens. null: never. */
  expiresAt: Date | null
  status: ClientStatus
}

/** What may sign a client's assertions (RFC 7518, RFC 8037, RFC 9864), by the curve, or else the type, of its key. */
const ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  'P-256': ['ES256'],
  Ed25519: ['Ed25519', 'EdDSA'],
  RSA: ['PS256', 'RS256'],
}

export const ASSERTION_ALGORITHMS: readonly string[] = Object.values(ALGORITHMS).flat()

/** Returns the algorithms of a client's public key. */
export const algorithmsOf = ({ crv, kty = '' }: JWK): readonly string[] => ALGORITHMS[crv ?? kty] ?? []

/** Returns for each id, in their order, the client's credentials, undefined when no client has that id. */
export async function readClientCredentials(
  db: Queryable,
  clientIds: readonly string[],
): Promise<(ClientCredentials | undefined)[]> {
  const { rows } = await db.raw(
    `select client_id as "clientId", vendor_id as "vendorId", scopes, secret_hash as "secretHash",
       public_key as "publicKey", expires_at as "expiresAt", status
     from oauth_clients where client_id = any(?::text[])`,
    [clientIds as string[]],
  )
  const found = new Map((rows as ClientCredentials[]).map((client) => [client.clientId, client]))
  return clientIds.map((clientId) => found.get(clientId))
}
