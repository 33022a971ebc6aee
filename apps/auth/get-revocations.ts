import type { Clock } from '#shared/process/clock.ts'
import { within } from '#shared/process/within.ts'
import { publishedId, readPublishedRevocations } from '#shared/revocation/state.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { Answer } from './answer.ts'
import type { ClockWatch } from './clock-watch.ts'
import { answerConditional, publicDocument } from './documents.ts'
import type { KeyRing } from './key-ring.ts'
import { unavailable } from './refusal.ts'
import type { Handler } from './route.ts'
import type { TokenKey } from './token-key.ts'

/** How old a page may be when a request for it arrives, from the start of its statement. */
const PAGE_LIFE_MS = 1_000
const STATEMENT_DEADLINE_MS = 3_000

/**
 * GET /v1/oauth/revocations: what is revoked, as a JWT, for services that verify tokens themselves. It is read from the
 * Postgres primary in one statement, and so complete up to the moment at which that began. Requests of the same second
 * share it. 503 while Postgres cannot say, or may have forgotten.
 */
export function createGetRevocations(parts: {
  db: Queryable
  keys: KeyRing
  clock: Clock
  clockWatch: Pick<ClockWatch, 'isRight'>
  issuer: string
  monotonic?: () => number
}): Handler {
  const { db, keys, clock, clockWatch, issuer, monotonic = () => performance.now() } = parts
  let began_ms = Number.NEGATIVE_INFINITY
  let latest = Promise.resolve<Answer | undefined>(undefined)

  async function make(): Promise<Answer | undefined> {
    const now_ms = clock.now()
    const revoked = await within(STATEMENT_DEADLINE_MS, readPublishedRevocations(db, new Date(now_ms)))
    let signer = keys.signer()
    while (signer && revoked?.keys.includes(publishedId(signer.kid))) signer = await keys.withdraw(signer.kid)
    if (!revoked || !signer) return undefined
    const lists = `"clients":${revoked.clients},"tokens":${revoked.tokens},"keys":${revoked.keys}`
    return signPage(`{"iss":${JSON.stringify(issuer)},"iat":${Math.floor(now_ms / 1_000)},${lists}}`, signer)
  }

  /**
   * One page is made at a time, and one a second at most, even if that fails. All requests that waited for a slow one
   * share the next, so that no number of them makes anyone wait for more than two.
   */
  function current(): Promise<Answer | undefined> {
    const arrived_ms = monotonic()
    latest = latest.then((page) => {
      if (arrived_ms - began_ms < PAGE_LIFE_MS) return page
      began_ms = monotonic()
      return make().catch(() => undefined)
    })
    return latest
  }

  return async (exchange) => {
    // A page that is dated ahead could be passed off as a new one later.
    if (!clockWatch.isRight()) return unavailable('clock_wrong')
    const page = await current()
    return page ? answerConditional(exchange, page) : unavailable('revocations_not_read')
  }
}

/** RFC 7515 §7.1. The claims are signed as Postgres wrote them: parsing that many would hold up every other request. */
function signPage(claims: string, signer: TokenKey): Answer {
  const header = JSON.stringify({ alg: signer.alg, typ: 'revocations+jwt', kid: signer.kid })
  const signed = [header, claims].map((part) => Buffer.from(part).toString('base64url')).join('.')
  const signature = Buffer.from(signer.sign(Buffer.from(signed))).toString('base64url')
  return publicDocument(Buffer.from(`${signed}.${signature}`), 'application/jwt', PAGE_LIFE_MS / 1_000)
}
