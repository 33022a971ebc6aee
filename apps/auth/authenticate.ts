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
import { invalidClient, type OAuthExchange, OAuthRefusal, tooManyRequests, tryLater } from './http.ts'
import type { KeyRing } from './key-ring.ts'
import type { TokenKey } from './token-key.ts'

export type Authenticate = ReturnType<typeof createAuthenticate>

/** The active key, the standby key that follows it, and a new one. */
const KEYS_TRIED_MAX = 3
/** Stands in for the hash of a client that does not exist. No secret hashes to random bytes. */
const NO_HASH = randomBytes(32)

/**
 * Returns a function that authenticates a client by its secret or an assertion and checks its record, then
 * checks revocation in the round trip that counts the request. If it does not refuse the client, it returns
 *
 * - `record`: the client's record;
 * - `signer`: the key to sign with, whose revocation was checked in the same round trip;
 * - `rate`: the rate that the answer states, which may be exceeded;
 * - `standing`: `live`, or `undecided` if neither store could say whether the client or the key is revoked.
 *
 * A failure always costs one read of the record, whether or not the client exists, so that response time does
 * not reveal which ids exist. `limit` counts only authenticated requests, so that a stranger cannot use it
 * up. If a date matters and this process's clock is wrong, the answer is 503.
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
  const recordNotRead = () => tryLater('client_record_not_read')

  /** Returns the client's record if the credentials are its own, or a refusal. */
  async function verifyCredentials(exchange: OAuthExchange, credentials: PresentedCredentials) {
    const { clientId, secret, assertion } = credentials
    if (assertion && !clockWatch.isRight()) return tryLater('clock_wrong')
    const cached = clients.peek(clientId)
    const record = cached ?? (await clients.read(clientId).catch(recordNotRead))
    if (record instanceof OAuthRefusal) return record
    const verify = async (candidate: ClientCredentials | undefined) =>
      assertion
        ? assertions.verify(assertion, { clientId, path: exchange.path }, candidate)
        : checkSecret(secret, candidate)
    const refusal = await verify(record)
    // As slow as for an unknown client. Only the keys of a workload's issuer can have changed.
    const fresh = refusal && cached && (await clients.read(clientId).catch(recordNotRead))
    if (fresh instanceof OAuthRefusal) return fresh
    const isChanged = fresh && fresh.workload?.keysAsOf_ms !== record?.workload?.keysAsOf_ms
    const current = isChanged ? fresh : record
    const verdict = isChanged ? await verify(fresh) : refusal
    if (current) exchange.client = { record: current, proven: !verdict }
    return verdict ?? (current as ClientCredentials)
  }

  /** Checks the client and the key. If the key is revoked, its successor takes over, once checked as well. */
  async function checkRevocation(active: TokenKey, clientId: string) {
    let signer = active
    for (let attempt = 0; attempt < KEYS_TRIED_MAX; attempt += 1) {
      const standing = await revocation.ask({ clientId, kid: signer.kid })
      if (typeof standing !== 'object' || standing.revoked !== 'key') return { standing, signer }
      const successor = await keys.withdraw(signer.kid)
      if (!successor) break
      signer = successor
    }
    return { standing: 'undecided' as const, signer }
  }

  /** Counts a refusal for which the stores were asked. As slow as for a wrong secret: it reads meanwhile. */
  async function refuseAuthenticated(exchange: OAuthExchange, clientId: string, refusal: OAuthRefusal) {
    const [counted] = await Promise.all([
      countFailure(exchange, refusal),
      clients.read(clientId).catch(() => {}),
    ])
    return counted
  }

  return async (exchange: OAuthExchange, credentials: PresentedCredentials, limit: RateLimit) => {
    const { assertion } = credentials
    const active = keys.signer()
    if (!active) return tryLater('no_signing_key')
    const isCached = clients.peek(credentials.clientId) !== undefined
    const record = await verifyCredentials(exchange, credentials)
    if (record instanceof OAuthRefusal)
      return record.parts.status === 401 ? countFailure(exchange, record) : record
    const { clientId, expiresAt } = record
    if (expiresAt && !clockWatch.isRight()) return tryLater('clock_wrong')
    const isRevoked = record.status === 'Revoked'
    if (isRevoked || (expiresAt && expiresAt.getTime() <= clock.now())) {
      // As slow as for a wrong secret.
      if (isCached) await clients.read(clientId).catch(() => {})
      return countFailure(exchange, invalidClient(isRevoked ? 'revoked_client' : 'expired_client'))
    }
    const [{ standing, signer }, rate] = await Promise.all([
      checkRevocation(active, clientId),
      limit.consume(clientId),
    ])
    if (typeof standing === 'object')
      return refuseAuthenticated(exchange, clientId, invalidClient('revoked_client'))
    // An answer that says to try again must not use it up.
    const isDecided = rate.allowed && standing !== 'undecided'
    const use = assertion && isDecided ? await assertions.use(assertion, record) : {}
    exchange.undoUse = use.undo
    if (use.refusal) return refuseAuthenticated(exchange, clientId, use.refusal)
    exchange.rate = use.exceededRate ?? rate
    return { record, signer, rate: exchange.rate, standing }
  }
}

/** Returns a refusal unless the secret is the record's. Compares in constant time even without a record. */
export function checkSecret(
  secret: string,
  record: { secretHash: Buffer | null } | undefined,
): OAuthRefusal | undefined {
  const matches = timingSafeEqual(hashSecret(secret), record?.secretHash ?? NO_HASH)
  if (secret === '') return invalidClient('no_secret')
  if (!record) return invalidClient('unknown_client')
  if (!record.secretHash) return invalidClient('secret_of_key_client')
  return matches ? undefined : invalidClient('wrong_secret')
}

export type CountFailure = ReturnType<typeof createCountFailure>

/** Counts a failure by address. All callers that cannot authenticate are limited alike. */
export const createCountFailure =
  (failures: RateLimit) =>
  async ({ context }: OAuthExchange, refusal: OAuthRefusal): Promise<OAuthRefusal> => {
    const rate = await failures.consume(addressSubject(context.clientAddress))
    return rate.allowed ? refusal : tooManyRequests('failures_of_address', rate)
  }
