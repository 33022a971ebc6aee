import { setTimeout as sleep } from 'node:timers/promises'
import got from 'got'
import { decodeJwt } from 'jose'
import { createAccessTokens, TokenRefused } from '#shared/access-tokens/access-tokens.ts'
import { createRevocationFeed } from '#shared/access-tokens/revocation-feed.ts'
import { createSigningKeys } from '#shared/access-tokens/signing-keys.ts'

/** One way to learn that a token was revoked. */
export interface Verifier {
  name: string
  /** From the reply to a revocation to the first request that must be refused. */
  promised_ms: number
  /** Whether it accepts the token now. @throws Error if that is unknown. */
  accepts(token: string): Promise<boolean>
}

type Credentials = { client_id: string; client_secret: string }
/** An authorization server's metadata (RFC 8414). */
type Metadata = Record<string, string>

const POLL_EVERY_MS = 20
/** Later than any verifier has promised to refuse. */
const GIVE_UP_MS = 15_000
/** Rounds begin at any moment between two polls of a page. */
const PAUSE_MAX_MS = 1_000
const TIMEOUT_MS = 10_000
const EXIT_LATE = 1

const http = got.extend({
  throwHttpErrors: false,
  followRedirect: false,
  retry: { limit: 0 },
  timeout: { request: TIMEOUT_MS },
})

/** Reads the metadata (RFC 8414) below a base URL. @throws Error that says what is wrong with the URL. */
export async function discover(baseUrl: string): Promise<Metadata> {
  const url = `${baseUrl}/.well-known/oauth-authorization-server`
  const { statusCode, body } = await http(url)
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}, not 200.`)
  const metadata = parseObject(url, body)
  // RFC 8414 §3.3. The secret goes to the endpoints that this document names.
  if (metadata.issuer === baseUrl) return metadata
  throw new Error(`${url} is of another issuer, ${metadata.issuer}. Give that as the base URL.`)
}

/** Parses a JSON object. @throws Error that names its address, which may be that of a web page. */
function parseObject(url: string | undefined, body: string) {
  if (body.trim().startsWith('{')) return JSON.parse(body)
  throw new Error(`${url} answered 200, but not with a JSON object.`)
}

/** Returns the body of a 200. @throws Error with what the endpoint said otherwise. */
async function post(url = '', form: Credentials & Record<string, string>): Promise<string> {
  const { statusCode, body } = await http.post(url, { form })
  if (statusCode === 200) return body
  throw new Error(`${url} answered ${statusCode}: ${body.slice(0, 200)}`)
}

/** @throws Error with what the token endpoint said. */
export async function getToken({ token_endpoint }: Metadata, client: Credentials) {
  const grant = { grant_type: 'client_credentials', scope: 'analytics:read' }
  const body = await post(token_endpoint, { ...grant, ...client })
  return parseObject(token_endpoint, body).access_token as string
}

/** Whether the resource API accepts a token for the daily figures of its company. */
export async function apiAccepts(apiUrl: string, token: string): Promise<boolean> {
  const { vendor_id } = decodeJwt<{ vendor_id: string }>(token)
  const headers = { authorization: `Bearer ${token}` }
  const { statusCode, body } = await http(`${apiUrl}/v1/analytics/${vendor_id}/daily`, { headers })
  if (statusCode === 401 || statusCode === 200) return statusCode === 200
  throw new Error(`The API answered ${statusCode} to a daily read: ${body.slice(0, 200)}`)
}

/** Whether introspection (RFC 7662) calls a token active, asked by a registered service. */
export const introspectionAccepts = async (url: string | undefined, service: Credentials, token: string) =>
  parseObject(url, await post(url, { token, ...service })).active === true

/** Returns a verifier that uses the package for services: it polls the revocations page. */
export async function startPackage(metadata: Metadata, resource: string) {
  const { issuer = '', jwks_uri = '', revocations_uri = '' } = metadata
  const log = { warn() {} }
  const keys = createSigningKeys({ url: jwks_uri, log })
  const revocation = createRevocationFeed({ url: revocations_uri, issuer, keys, log })
  await keys.start()
  await revocation.start()
  const tokens = createAccessTokens({ keys, revocation, issuer, resource })
  return async (token: string): Promise<boolean> => {
    try {
      await tokens.requireLive(await tokens.verify({ kind: 'token', token }))
      return true
    } catch (error) {
      if (error instanceof TokenRefused && error.status === 401) return false
      throw error
    }
  }
}

/**
 * Revokes this many tokens, one after the other. Returns for each verifier the longest time that it took from
 * the reply to the beginning of the last request that was accepted, 0 if none was.
 * @throws Error when a good token is refused, or a revoked one still accepted after 15 s.
 */
export async function revokeRepeatedly(
  metadata: Metadata,
  client: Credentials,
  verifiers: readonly Verifier[],
  { count, onRevoked = () => {} }: { count: number; onRevoked?: (round: number) => void },
): Promise<number[]> {
  let worst_ms = verifiers.map(() => 0)
  for (let round = 1; round <= count; round += 1) {
    const took_ms = await revokeOnce(metadata, client, verifiers)
    worst_ms = worst_ms.map((ms, i) => Math.max(ms, took_ms[i] ?? 0))
    onRevoked(round)
  }
  return worst_ms
}

/** Returns what to print of each verifier, and the exit code: EXIT_LATE if one accepted a token too long. */
export function compareWithPromises(verifiers: readonly Verifier[], worst_ms: readonly number[]) {
  const results = verifiers.map(({ name, promised_ms }, i) => {
    return { name, worst_ms: Math.ceil(worst_ms[i] ?? 0), promised_ms }
  })
  const isLate = results.some(({ worst_ms, promised_ms }) => worst_ms > promised_ms)
  return { results, exitCode: isLate ? EXIT_LATE : 0 }
}

/** Gets a token, waits until every verifier accepts it, revokes it, and asks each until it refuses it. */
async function revokeOnce(metadata: Metadata, client: Credentials, verifiers: readonly Verifier[]) {
  await sleep(Math.random() * PAUSE_MAX_MS)
  const token = await getToken(metadata, client)
  for (const { name, accepts } of verifiers)
    if (!(await accepts(token))) throw new Error(`A token that was not revoked is refused: ${name}.`)
  await post(metadata.revocation_endpoint, { token, ...client })
  const repliedAt_ms = performance.now()
  return Promise.all(verifiers.map((each) => untilRefused(each, token, repliedAt_ms)))
}

async function untilRefused({ name, accepts }: Verifier, token: string, repliedAt_ms: number) {
  for (let took_ms = 0; ; await sleep(POLL_EVERY_MS)) {
    const began_ms = performance.now() - repliedAt_ms
    if (began_ms > GIVE_UP_MS) throw new Error(`A revoked token is still accepted after 15 s: ${name}.`)
    if (!(await accepts(token))) return took_ms
    took_ms = began_ms
  }
}
