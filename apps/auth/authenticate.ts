import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { ClientCredentialsRecord } from '#shared/oauth/clients.ts'
import { CLIENT_ID_PATTERN, hashSecret } from '#shared/oauth/ids.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Standing } from '#shared/revocation/subject.ts'
import {
  addressSubject,
  type RateLimit,
  type RateLimitVerdict,
  rateLimitHeaders,
} from '#shared/stores/rate-limit.ts'
import type { TokenSigner } from './access-token.ts'
import type { ClientRecords } from './client-records.ts'
import type { PresentedCredentials } from './credentials.ts'
import type { KeyRing } from './key-ring.ts'
import { invalidClient, type Refusal, tooManyRequests, unavailable } from './refusal.ts'

/** A client that proved who it is. Only `createAuthenticate` makes one. */
export interface AuthenticatedClient {
  readonly record: ClientCredentialsRecord
  /** The key to sign with: asked about in the same moment as the client. */
  readonly signer: TokenSigner
  /** It may go no further, but its request is judged first: over its rate, or neither store could decide. */
  readonly hold: Refusal | undefined
}

export type Authenticate = (
  credentials: PresentedCredentials,
  clientAddress: string,
) => Promise<AuthenticatedClient | Refusal>

export interface Limits {
  /** Counts what a client does once it is authenticated: a stranger cannot use it up. */
  client: RateLimit
  /** Counts failed authentications by address. */
  failures: RateLimit
}

interface AuthenticateDependencies {
  clients: ClientRecords
  revocation: Revocation
  limits: Limits
  keys: KeyRing
}

interface Asked {
  standing: Standing
  signer: TokenSigner
}

/** Stands in for the hash of a client that does not exist: nothing hashes to random bytes. */
const NO_HASH = randomBytes(32)

/**
 * Authenticates a client by its secret. An unknown client is hashed for, compared, counted and answered like a wrong
 * secret. Whether a client is revoked is asked for who has its secret, in the same moment as its rate is counted, so
 * that a request waits for Redis once; only where something was revoked it asks on.
 */
export function createAuthenticate({
  clients,
  revocation,
  limits,
  keys,
}: AuthenticateDependencies): Authenticate {
  /**
   * Asks again, since `revoked` does not say whether it was the client or the key that would sign for it. Whatever
   * signs in the end has been asked about.
   */
  async function standingWithAnotherKey(clientId: string, revoked: TokenSigner): Promise<Asked> {
    const standing = await revocation.ask({ clientId })
    if (standing !== 'live') return { standing, signer: revoked }
    await keys.replace(revoked.kid)
    const signer = keys.signer()
    if (!signer || signer.kid === revoked.kid) return { standing: 'undecided', signer: revoked }
    return { standing: await revocation.ask({ clientId, kid: signer.kid }), signer }
  }

  return async ({ clientId, secret, usedHeader }, clientAddress) => {
    const active = keys.signer()
    if (!active) return unavailable('no_signing_key')
    let record: ClientCredentialsRecord | undefined
    try {
      if (CLIENT_ID_PATTERN.test(clientId)) record = await clients.find(clientId)
    } catch {
      return unavailable('client_record_not_read')
    }
    const equal = timingSafeEqual(hashSecret(secret), record?.secretHash ?? NO_HASH)
    if (!equal || secret === '' || !record) {
      const rate = await limits.failures.consume(addressSubject(clientAddress))
      return failure({ record, secret, usedHeader, rate })
    }
    const [asked, rate] = await Promise.all([
      revocation.ask({ clientId, kid: active.kid }),
      limits.client.consume(clientId),
    ])
    const { standing, signer } =
      record.status === 'Active' && typeof asked === 'object'
        ? await standingWithAnotherKey(clientId, active)
        : { standing: record.status === 'Revoked' ? { revoked: 'client' as const } : asked, signer: active }
    if (typeof standing === 'object') return invalidClient('revoked_client', usedHeader)
    return { record, signer, hold: holdFor(rate, standing) }
  }
}

function failure({
  record,
  secret,
  usedHeader,
  rate,
}: {
  record: ClientCredentialsRecord | undefined
  secret: string
  usedHeader: boolean
  rate: RateLimitVerdict
}): Refusal {
  if (!rate.allowed) return tooManyRequests('failures_of_address', rateLimitHeaders(rate))
  if (secret === '') return invalidClient('no_secret', usedHeader)
  return invalidClient(record ? 'wrong_secret' : 'unknown_client', usedHeader)
}

function holdFor(rate: RateLimitVerdict, standing: Standing): Refusal | undefined {
  if (!rate.allowed) return tooManyRequests('rate_of_client', rateLimitHeaders(rate))
  return standing === 'live' ? undefined : unavailable('revocation_undecided')
}
