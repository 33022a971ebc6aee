import { SERVICE_ID_PATTERN } from '#shared/oauth/ids.ts'
import { readServiceCredentials } from '#shared/oauth/service-credentials.ts'
import { createBatcher } from '#shared/process/batcher.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import { answerUncached } from './answer.ts'
import { type CountFailure, judgeSecret } from './authenticate.ts'
import { readClientRequest } from './client-request.ts'
import type { ClockWatch } from './clock-watch.ts'
import type { PresentedCredentials } from './credentials.ts'
import type { ReadOwnToken } from './own-token.ts'
import { invalidClient, Refusal, tooManyRequests, unavailable } from './refusal.ts'
import type { Exchange, Handler } from './route.ts'

const FIELDS = new Set(['token', 'client_id', 'client_secret'])
/** RFC 7662 §2.2: the same for every token that is not live. */
const INACTIVE = Object.freeze(answerUncached({ active: false }))
const SERVICES_A_QUERY = 50

/** POST /v1/oauth/introspect (RFC 7662): a service that an operator registered asks whether a token is live. */
export function createPostIntrospect(parts: {
  db: Queryable
  /** Counts a service's questions, those of tokens that cannot be live apart: strangers choose what it passes on. */
  limit: RateLimit
  countFailure: CountFailure
  revocation: Revocation
  readOwnToken: ReadOwnToken
  clock: Clock
  clockWatch: ClockWatch
}): Handler {
  const { db, limit, countFailure, revocation, readOwnToken, clock, clockWatch } = parts
  const readService = createBatcher((ids: string[]) => readServiceCredentials(db, ids), SERVICES_A_QUERY)

  /** The record is read from the primary each time, so that a service is refused from its revocation on. */
  async function refuse(exchange: Exchange, { clientId, secret }: PresentedCredentials) {
    const isId = SERVICE_ID_PATTERN.test(clientId)
    const service = isId ? await readService(clientId).catch(() => 'unread' as const) : undefined
    if (service === 'unread') return unavailable('service_record_not_read')
    const refusal = judgeSecret(secret, service)
    if (refusal) return countFailure(exchange, refusal)
    return service?.isRevoked ? countFailure(exchange, invalidClient('revoked_client')) : undefined
  }

  return async (exchange) => {
    const read = await readClientRequest(exchange, FIELDS, 'token')
    if (read instanceof Refusal) return read
    const refusal = await refuse(exchange, read.credentials)
    if (refusal) return refusal
    // A clock that is behind takes expired tokens for live ones.
    if (!clockWatch.isRight()) return unavailable('clock_wrong')

    const own = await readOwnToken(read.value)
    if (own === 'unreadable') return unavailable('signing_key_unreadable')
    const isJunk = !own || own.claims.exp * 1_000 <= clock.now()
    const { clientId } = read.credentials
    exchange.rate = await limit.consume(isJunk ? `${clientId} junk` : clientId)
    if (!exchange.rate.allowed) return tooManyRequests('rate_of_service', exchange.rate)
    if (isJunk) return INACTIVE
    const { claims, kid } = own
    const standing = await revocation.ask({ clientId: claims.client_id, jti: claims.jti, kid })
    if (standing === 'undecided') return unavailable('revocation_undecided')
    return standing === 'live' ? answerUncached({ active: true, ...claims, token_type: 'Bearer' }) : INACTIVE
  }
}
