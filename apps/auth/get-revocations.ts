import type { Clock } from '#shared/process/clock.ts'
import { within } from '#shared/process/within.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import { publishedId, readPublishedRevocations } from '#shared/revocation/state.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { ClockWatch } from './clock-watch.ts'
import { answerConditional, publicDocument } from './documents.ts'
import { type Handler, type HttpAnswer, tryLater } from './http.ts'
import type { KeyRing } from './key-ring.ts'
import type { TokenKey } from './token-key.ts'

/** A request gets a page whose statement began at most this long before it arrived. */
const PAGE_LIFE_MS = 1_000
const STATEMENT_DEADLINE_MS = 3_000
/** How long ago another process's page may be dated: its age, and clocks that differ by a second. */
const AGE_MAX_S = 3

/**
 * GET /v1/oauth/revocations: what is revoked, as a JWT, for services that verify tokens themselves. One
 * statement reads it from the Postgres primary, so it is complete up to the start of that statement. Requests
 * at any process within a second share it. 503 while Postgres cannot answer, or may have lost revocations.
 */
export function createGetRevocations(parts: {
  db: Queryable
  revocation: Pick<Revocation, 'obtainPage'>
  keys: KeyRing
  clock: Clock
  clockWatch: Pick<ClockWatch, 'isRight'>
  issuer: string
  monotonic?: () => number
}): Handler {
  const { db, keys, clock, clockWatch, issuer, monotonic = () => performance.now() } = parts
  let startedAt_ms = Number.NEGATIVE_INFINITY
  let latest = Promise.resolve<HttpAnswer | undefined>(undefined)
  let latestIat_s = 0

  async function createPage(): Promise<string | undefined> {
    const now_ms = clock.now()
    const lists = await within(STATEMENT_DEADLINE_MS, readPublishedRevocations(db, new Date(now_ms)))
    let signer = keys.signer()
    while (signer && lists?.keys.includes(publishedId(signer.kid))) signer = await keys.withdraw(signer.kid)
    if (!lists || !signer) return undefined
    const claims = `"clients":${lists.clients},"tokens":${lists.tokens},"keys":${lists.keys}`
    return signPage(`{"iat":${Math.floor(now_ms / 1_000)},"iss":${JSON.stringify(issuer)},${claims}}`, signer)
  }

  /** Dates must not go back: verifiers take that for a replay. This also bounds what Redis can replay. */
  function isCurrent(page: string): boolean {
    const iat_s = readIat_s(page)
    const age_s = clock.now() / 1_000 - iat_s
    return iat_s >= latestIat_s && age_s >= 0 && age_s < AGE_MAX_S
  }

  /**
   * Pages are obtained one at a time, at most one a second, even if that fails. Requests that wait for a slow
   * page share the next, so no request waits for more than two.
   */
  function currentPage(): Promise<HttpAnswer | undefined> {
    const arrivedAt_ms = monotonic()
    latest = latest.then(async (page) => {
      if (arrivedAt_ms - startedAt_ms < PAGE_LIFE_MS) return page
      const conditions = { kid: keys.signer()?.kid ?? '', after_ms: arrivedAt_ms - PAGE_LIFE_MS, isCurrent }
      const next = await parts.revocation.obtainPage(conditions, () => createPage().catch(() => undefined))
      startedAt_ms = next.startedAt_ms
      if (next.text) latestIat_s = readIat_s(next.text)
      return next.text ? publicDocument(next.text, 'application/jwt', PAGE_LIFE_MS / 1_000) : undefined
    })
    return latest
  }

  return async (exchange) => {
    // A page that is dated ahead could be replayed later as a new one.
    if (!clockWatch.isRight()) return tryLater('clock_wrong')
    const page = await currentPage()
    return page ? answerConditional(exchange, page) : tryLater('revocations_not_read')
  }
}

/** Returns the `iat` of a page by `createPage`, which begins with it. */
const readIat_s = (page: string): number =>
  Number(Buffer.from(page.split('.')[1] ?? '', 'base64url').toString('latin1', 7, 17))

/** RFC 7515 §7.1. Postgres writes the claims as text, since parsing that many would block other requests. */
function signPage(claims: string, signer: TokenKey): string {
  const header = JSON.stringify({ alg: signer.alg, typ: 'revocations+jwt', kid: signer.kid })
  const input = [header, claims].map((part) => Buffer.from(part).toString('base64url')).join('.')
  return `${input}.${Buffer.from(signer.sign(Buffer.from(input))).toString('base64url')}`
}
