import type { JWK } from 'jose'
import { assertPrimary, FENCED } from '#shared/revocation/fence.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { Scope } from './scopes.ts'

export type ClientStatus = 'Active' | 'Revoked'

/** What authenticating a client takes. The authorization server's role may read nothing else of a client. */
export interface ClientCredentials {
  clientId: string
  vendorId: string
  scopes: Scope[]
  /** SHA-256 of the client secret, 32 bytes. null: the client has a key, or a workload. */
  secretHash: Buffer | null
  /** The public JWK of a client that authenticates by assertions of its own (RFC 7523). */
  publicKey: JWK | null
  /** Whose tokens the client sends as assertions. */
  workload: Workload | null
  /** From then on it gets no tokens. null: never. */
  expiresAt: Date | null
  status: ClientStatus
}

/** Which token of a platform proves that its sender is the client: by its issuer, keys and exact claims. */
export interface Workload {
  issuer: string
  /** Whose claims its tokens have, such as `github`. null: those of any OpenID issuer. */
  platform: string | null
  claims: Readonly<Record<string, string>>
  keys: readonly JWK[]
  keysFrom: 'issuer' | 'pasted'
  keysAsOf_ms: number
}

/** Algorithms of client assertions (RFC 7518, RFC 8037, RFC 9864) by the key's curve, else by its type. */
const ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  Ed25519: ['Ed25519', 'EdDSA'],
  RSA: ['PS256', 'RS256'],
}

export const ASSERTION_ALGORITHMS: readonly string[] = Object.values(ALGORITHMS).flat()

/** Returns the algorithms that a public key may be used with: those of its type, or the one in its `alg`. */
export const assertionAlgorithms = ({ crv, kty = '', alg }: JWK): readonly string[] =>
  (ALGORITHMS[crv ?? kty] ?? []).filter((algorithm) => alg === undefined || alg === algorithm)

/**
 * Returns for each id, in their order, the client's credentials, undefined when no client has that id.
 * @throws as `assertPrimary`: a restored database may have a client as Active whose revocation Redis forgot.
 */
export async function readClientCredentials(
  db: Queryable,
  clientIds: readonly string[],
): Promise<(ClientCredentials | undefined)[]> {
  const { rows } = await db.raw(
    `select client_id as "clientId", c.vendor_id as "vendorId", scopes, secret_hash as "secretHash",
       public_key as "publicKey", expires_at as "expiresAt", status,
       case when workload_issuer is not null then jsonb_build_object('issuer', workload_issuer,
         'platform', workload_platform, 'claims', workload_claims, 'keys', coalesce(keys, '[]'),
         'keysFrom', keys_from, 'keysAsOf_ms', floor(extract(epoch from keys_as_of) * 1000)) end as workload,
       restored
     from (select ${FENCED} as restored) as database
       left join oauth_clients c on client_id = any(?::text[])
       left join workload_issuers i on i.vendor_id = c.vendor_id and i.issuer = c.workload_issuer`,
    [clientIds as string[]],
  )
  assertPrimary({ restored: rows[0].restored })
  const clients = new Map((rows as ClientCredentials[]).map((client) => [client.clientId, client]))
  return clientIds.map((clientId) => clients.get(clientId))
}
