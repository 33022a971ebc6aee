import { SERVICE_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import { assertPrimary, FENCED } from '#shared/revocation/fence.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import { type CountFailure, checkSecret } from './authenticate.ts'
import { batchReads } from './client-records.ts'
import { readClientRequest } from './client-request.ts'
import type { ClockWatch } from './clock-watch.ts'
import type { PresentedCredentials } from './credentials.ts'
import {
  answerUncached,
  type Handler,
  invalidClient,
  type OAuthExchange,
  OAuthRefusal,
  tooManyRequests,
  tryLater,
} from './http.ts'
import type { ReadIssuedToken } from './issued-token.ts'

const FIELDS = new Set(['token', 'client_id', 'client_secret'])
/** RFC 7662 §2.2: the answer is the same for every token that is not live. */
const INACTIVE = Object.freeze(answerUncached({ active: false }))

/** POST /v1/oauth/introspect (RFC 7662): tells a service that an operator registered if a token is live. */
export function createPostIntrospect(parts: {
  db: Queryable
  /** Limits a service. Tokens that cannot be live are counted apart, since strangers send them. */
  limit: RateLimit
  countFailure: CountFailure
  revocation: Revocation
  readIssuedToken: ReadIssuedToken
  clock: Clock
  clockWatch: ClockWatch
}): Handler {
  const { db, limit, countFailure, revocation, readIssuedToken, clock, clockWatch } = parts
  const readService = batchReads((ids) => readServiceCredentials(db, ids))

  /** Reads the service's record from the primary each time, so that its revocation holds at once. */
  async function authenticateService(exchange: OAuthExchange, { clientId, secret }: PresentedCredentials) {
    const isId = SERVICE_ID_PATTERN.test(clientId)
    const service = isId ? await readService(clientId).catch(() => 'unread' as const) : undefined
    if (service === 'unread') return tryLater('service_record_not_read')
    const refusal = checkSecret(secret, service)
    if (refusal) return countFailure(exchange, refusal)
    return service?.isRevoked ? countFailure(exchange, invalidClient('revoked_client')) : undefined
  }

  return async (exchange) => {
    const form = await readClientRequest(exchange, FIELDS, 'token')
    if (form instanceof OAuthRefusal) return form
    const refusal = await authenticateService(exchange, form.credentials)
    if (refusal) return refusal
    // If the clock were behind, expired tokens would look live.
    if (!clockWatch.isRight()) return tryLater('clock_wrong')

    const token = await readIssuedToken(form.value)
    if (token === 'unreadable') return tryLater('signing_key_unreadable')
    const isJunk = !token || !hasOneSpelling(form.value) || token.claims.exp * 1_000 <= clock.now()
    const { clientId } = form.credentials
    exchange.rate = await limit.consume(isJunk ? `${clientId} junk` : clientId)
    if (!exchange.rate.allowed) return tooManyRequests('rate_of_service', exchange.rate)
    if (isJunk) return INACTIVE
    const { claims, kid } = token
    const standing = await revocation.ask({ clientId: claims.client_id, jti: claims.jti, kid })
    if (standing === 'undecided') return tryLater('revocation_undecided')
    return standing === 'live' ? answerUncached({ active: true, ...claims, token_type: 'Bearer' }) : INACTIVE
  }
}

/** jose ignores padding, spare bits and line feeds. The API refuses them (RFC 7515 §2), as services must. */
function hasOneSpelling(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1)
  return Buffer.from(signature, 'base64url').toString('base64url') === signature
}

type ServiceCredentials = { secretHash: Buffer; isRevoked: boolean }

/**
 * Returns for each id, in their order, the service's credentials, undefined when no service has that id.
 * @throws as `assertPrimary`, when the database may not know that one is revoked.
 */
async function readServiceCredentials(
  db: Queryable,
  serviceIds: readonly string[],
): Promise<(ServiceCredentials | undefined)[]> {
  const { rows } = await db.raw(
    `select pg_is_in_recovery() as standby, ${FENCED} as restored, secret_hash as "secretHash",
       revoked_at is not null as "isRevoked"
     from unnest(?::text[]) with ordinality as request (service_id, place)
       left join services using (service_id)
     order by place`,
    [serviceIds as string[]],
  )
  assertPrimary(rows[0])
  return rows.map((row: ServiceCredentials) => (row.secretHash ? row : undefined))
}
