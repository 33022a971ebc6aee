/**
 * Every key that the services keep in Redis, with how long it lives. Nothing in Redis is the only copy of
 * anything: each of these can be lost without a revoked client working or a client getting lost.
 */
const SECOND_MS = 1_000
const HOUR_MS = 3_600 * SECOND_MS

export const redisKeys = {
  /** Present: the client, the token with this jti, or the signing key with this kid is revoked. */
  revoked: (kind: 'client' | 'token' | 'key', id: string) => `revoked:${kind}:${id}`,
  /** Matches all of these. */
  revokedAny: 'revoked:*',
  /** The run_id of the server that holds every recent revocation, a space, and the tick of the round. */
  revocationMarker: 'revocation:marker',
  /** Set before filling, read after it: missing or different means that the server was flushed meanwhile. */
  revocationNonce: (reconciler: string) => `revocation:nonce:${reconciler}`,
  /** When the database was last confirmed, which one it is, and the newest revocation that it then had. */
  revocationSeen: 'revocation:seen',
  /** A counter that every process advances each second: the age of a marker without Redis' clock. */
  revocationTick: 'revocation:tick',
  /** The latest page of revocations that this key signed, or the claim of the process that creates it. */
  revocationPage: (kid: string) => `revocation:page:${kid}`,
  /** Present: this assertion was used. Lives until it has expired by every process's clock. */
  usedAssertion: (id: string) => `assertion:${id}`,
  // The keys of RATE_REDIS_URL. A command has only keys with the same braces, which a cluster keeps together.
  /** How often the subject was counted. Lives for one window of the policy. */
  rateLimit: (policy: string, subject: string) => `rate:${policy}:{${subject}}`,
  /** A refused request of a company's client, in JSON. Lives for a day. */
  refusal: (vendorId: string, requestId: string) => `refusals:record:{${vendorId}}:${requestId}`,
  /** Sorted set: positions of a company's or client's refused requests. Lives for a day after the last. */
  refusals: (kind: 'proven' | 'unproven', vendorId: string, clientId?: string) =>
    `refusals:${kind}:of:{${vendorId}}:${clientId ?? ''}`,
  /** Sorted set: a company's clients by how many refused requests are kept of each. Lives as long. */
  refusalCounts: (kind: 'proven' | 'unproven', vendorId: string) => `refusals:${kind}:counts:{${vendorId}}`,
  /** List, newest first: a client's answered requests as text. Lives for two weeks after the last one. */
  requests: (vendorId: string, clientId: string) => `requests:of:{${vendorId}}:${clientId}`,
  /** Sorted set: keys of a company's lists of requests, by start. Lives for a year after the last start. */
  requestLogs: (vendorId: string) => `requests:logs:{${vendorId}}`,
  /** When a process found it missing, in ms: earlier requests may be lost, in a cluster also later ones. */
  requestsBegin: 'requests:begin',
} as const

export const redisLifetimes = {
  revocationEntry_ms: HOUR_MS,
  revocationMarker_ms: 5 * SECOND_MS,
  revocationNonce_ms: 60 * SECOND_MS,
  revocationPage_ms: 5 * SECOND_MS,
  refusals_ms: 24 * HOUR_MS,
  requests_ms: 14 * 24 * HOUR_MS,
  requestLogs_ms: 365 * 24 * HOUR_MS,
} as const
