import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { ClientCredentials } from '#shared/oauth/client-credentials.ts'
import { hashSecret } from '#shared/oauth/ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import { addressSubject, type RateLimit } from '#shared/stores/rate-limit.ts'
import type { Assertions } from './assertion.ts'
import type { ClientRecords } from './client-records.ts'
import type { ClockWatch } from './clock-watch.ts'
import type { PresentedCredentials } from './credentials.ts'
import type { KeyRing } from './key-ring.ts'
import { invalidClient, Refusal, tooManyRequests, unavailable } from './refusal.ts'
import type { Exchange } from './route.ts'
import type { TokenKey } from './token-key.ts'

export type Authenticate = ReturnType<typeof createAuthenticate>

/** The active key, the former standby key, and a new one. */
const KEYS_TRIED_MAX = 3
/** Stands in for the hash of a client that does not exist: no secret hashes to random bytes. */
const NO_HASH = randomBytes(32)

/**
 * Authenticates a client by its secret or an assertion, then checks revocation and expiry in the round trip that counts
 * the request. What proves nothing waits for one read of the record, whether or not the client exists, so that the time
 * of an answer does not reveal which ids are in use. `limit` counts only requests of a client that proved who it is, so
 * that a stranger cannot use it up. Where a date decides and this process's clock is wrong, the answer is 503.
 *
 * Returns the record of a client that proved who it is, and the key to sign with, whose revocation was asked about in
 * the same moment. `undecided`: neither store could say whether the client or the key is revoked.
 */
export function createAuthenticate(parts: {
  clients: ClientRecords
  revocation: Revocation
  keys: KeyRing
  assertions: Assertions
  clock: Clock
  clockWatch: Pick<ClockWatch, 'isRight'>
  countFailure: CountFailure
}) {
  const { clients, revocation, keys, assertions, clock, clockWatch, countFailure } = parts
  const recordNotRead = () => unavailable('client_record_not_read')

  /** Returns the record if the credentials prove that they are its client's, or how authentication failed. */
  async function verifyCredentials(exchange: Exchange, credentials: PresentedCredentials) {
    const { clientId, secret, assertion } = credentials
    if (assertion && !clockWatch.isRight()) return unavailable('clock_wrong')
    const remembered = clients.remembered(clientId)
    const record = remembered ?? (await clients.read(clientId).catch(recordNotRead))
    if (record instanceof Refusal) return record
    const judge = async (one: ClientCredentials | undefined) =>
      assertion
        ? assertions.verify(assertion, { clientId, path: exchange.path }, one)
        : judgeSecret(secret, one)
    const first = await judge(record)
    // This makes the answer as slow as for a client that is not known. Only the keys of a workload's issuer change.
    const again = first && remembered && (await clients.read(clientId).catch(recordNotRead))
    if (again instanceof Refusal) return again
    const current =
      again?.workload?.keysAsOf_ms === record?.workload?.keysAsOf_ms ? record : (again ?? record)
    const refusal = current === record ? first : await judge(current)
    if (current) exchange.client = { record: current, proven: !refusal }
    return refusal ?? (current as ClientCredentials)
  }

  /** The key that signs has always been checked for revocation, even the successor of a revoked key. */
  async function standingWith(active: TokenKey, clientId: string) {
    let signer = active
    for (let tried = 0; tried < KEYS_TRIED_MAX; tried += 1) {
      const standing = await revocation.ask({ clientId, kid: signer.kid })
      if (typeof standing !== 'object' || standing.revoked !== 'key') return { standing, signer }
      const successor = await keys.withdraw(signer.kid)
      if (!successor) break
      signer = successor
    }
    return { standing: 'undecided' as const, signer }
  }

  return async (exchange: Exchange, credentials: PresentedCredentials, limit: RateLimit) => {
    const { assertion } = credentials
    const active = keys.signer()
    if (!active) return unavailable('no_signing_key')
    const record = await verifyCredentials(exchange, credentials)
    if (record instanceof Refusal)
      return record.parts.status === 401 ? countFailure(exchange, record) : record
    const { clientId, expiresAt } = record
    if (expiresAt && !clockWatch.isRight()) return unavailable('clock_wrong')
    const [{ standing, signer }, own] = await Promise.all([
      standingWith(active, clientId),
      limit.consume(clientId),
    ])
    const isRevoked = record.status === 'Revoked' || typeof standing === 'object'
    const hasExpired = expiresAt !== null && expiresAt.getTime() <= clock.now()
    const judged =
      (isRevoked && invalidClient('revoked_client')) ||
      (hasExpired && invalidClient('expired_client')) ||
      (assertion && own.allowed && (await assertions.use(assertion, record)))
    if (judged instanceof Refusal) {
      // As slow as a wrong secret.
      await clients.read(clientId).catch(() => {})
      return countFailure(exchange, judged)
    }
    exchange.rate = judged || own
    return { record, signer, rate: exchange.rate, standing }
  }
}

/** Returns why a secret fails, if it does. Compares in constant time, also when there is no record to compare with. */
export function judgeSecret(
  secret: string,
  record: { secretHash: Buffer | null } | undefined,
): Refusal | undefined {
  const matches = timingSafeEqual(hashSecret(secret), record?.secretHash ?? NO_HASH)
  if (secret === '') return invalidClient('no_secret')
  if (!record) return invalidClient('unknown_client')
  if (!record.secretHash) return invalidClient('secret_of_key_client')
  return matches ? undefined : invalidClient('wrong_secret')
}

export type CountFailure = ReturnType<typeof createCountFailure>

/** Counts a failure by address: all callers that cannot authenticate are limited alike. */
export const createCountFailure =
  (failures: RateLimit) =>
  async ({ context }: Exchange, refusal: Refusal): Promise<Refusal> => {
    const rate = await failures.consume(addressSubject(context.clientAddress))
    return rate.allowed ? refusal : tooManyRequests('failures_of_address', rate)
  }
