import { decodeProtectedHeader } from 'jose'
import * as openid from 'openid-client'
import type { Clock } from '#shared/process/clock.ts'
import { within } from '#shared/process/within.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import { createFairQueue } from '../http/fair-queue.ts'
import { createPendingSignIns, type PendingSignIn } from './pending-sign-in.ts'
import { SignInRefusal } from './refusal.ts'
import { isAllowedUrl, type OpenidSettings } from './settings.ts'

export const CALLBACK_PATH = '/v1/session/openid/callback'

/** For all requests to the provider in one sign-in step. */
const DEADLINE_MS = 8_000
const ANSWER_MAX_BYTES = 256 * 1_024
/** How long the provider's metadata is cached. */
const METADATA_LIFETIME_MS = 600_000
const CONCURRENCY = 16
/** From a fresh sign-in at the provider to the exchange of the code: a page or two. */
const FRESH_MAX_AGE_S = 300
const CLOCK_SKEW_MAX_S = 120
/** How long signing out waits for the provider's metadata. */
const SIGN_OUT_MAX_MS = 2_000
const WAITING_MAX = 64

export type Claims = Readonly<Record<string, unknown>>

/** The OpenID provider that people sign in with. */
export type ConfiguredOpenid = ReturnType<typeof configureOpenid>

export const configureOpenid = (
  settings: OpenidSettings,
  { db, clock, baseUrl }: Omit<Parameters<typeof createPendingSignIns>[0], 'issuer'>,
) => ({
  settings,
  provider: createOpenidProvider({ settings, clock, baseUrl }),
  pendingSignIns: createPendingSignIns({ db, clock, baseUrl, issuer: settings.issuer }),
})

/** A confidential client with PKCE (OpenID Connect Core §3.1, RFC 7636, RFC 9700). */
function createOpenidProvider({
  settings,
  baseUrl,
  clock,
}: {
  settings: OpenidSettings
  /** The workspace's URL. */
  baseUrl: string
  clock: Clock
}) {
  const redirectUri = baseUrl + CALLBACK_PATH
  let cached: { configuration: openid.Configuration; readAt_ms: number } | undefined
  let discovering: Promise<openid.Configuration> | undefined
  const refusal = () => new SignInRefusal('unavailable', 'too_many_at_once')
  const runQueued = createFairQueue({
    concurrency: CONCURRENCY,
    waitingMax: WAITING_MAX,
    wait_ms: DEADLINE_MS,
    refusal,
  })

  async function readConfiguration(): Promise<openid.Configuration> {
    // The clock may have been set back.
    if (cached && Math.abs(clock.now() - cached.readAt_ms) < METADATA_LIFETIME_MS) return cached.configuration
    discovering ??= discover(settings).finally(() => {
      discovering = undefined
    })
    const configuration = await discovering
    cached = { configuration, readAt_ms: clock.now() }
    return configuration
  }

  return {
    /** Returns where the browser goes to sign in. @throws SignInRefusal unreachable or not_trusted */
    async authorizationUrl({ state, nonce, codeVerifier, fresh }: PendingSignIn): Promise<URL> {
      return openid.buildAuthorizationUrl(await withinDeadline(readConfiguration()), {
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: settings.scope,
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(fresh && { max_age: '0' }),
      })
    },
    /**
     * Exchanges the code in the redirect's query for the person's claims. Nothing else from the provider is
     * kept.
     * @throws SignInRefusal
     */
    claims(
      querystring: string,
      { state, nonce, codeVerifier, fresh }: PendingSignIn,
      { address }: { address: string },
    ): Promise<Claims> {
      const exchange = async (): Promise<Claims> => {
        const configuration = await readConfiguration()
        const tokens = await openid.authorizationCodeGrant(
          configuration,
          new URL(`${redirectUri}?${querystring}`),
          {
            expectedState: state,
            expectedNonce: nonce,
            pkceCodeVerifier: codeVerifier,
            ...(fresh && { maxAge: FRESH_MAX_AGE_S }),
          },
        )
        const claims = tokens.claims()
        if (!claims || !tokens.id_token) throw new SignInRefusal('not_trusted', 'no_id_token')
        checkIdToken(tokens.id_token, claims, { clientId: settings.clientId, now_ms: clock.now() })
        return addUserInfo(configuration, settings, { claims, accessToken: tokens.access_token })
      }
      return runQueued(addressSubject(address, 48), () => withinDeadline(exchange()))
    },
    /**
     * Where the browser goes to sign out there too (OpenID Connect RP-Initiated Logout 1.0 §2); undefined if
     * there is no such place or the provider does not answer in time. It has no `id_token_hint`, which would
     * have to be kept for as long as the session. So the provider, which knows by its own cookie who it is,
     * asks whether to sign out there too.
     */
    async signOutUrl(): Promise<URL | undefined> {
      if (!settings.signOut) return undefined
      const configuration = await within(SIGN_OUT_MAX_MS, readConfiguration()).catch(() => undefined)
      const endpoint = URL.parse(configuration?.serverMetadata().end_session_endpoint ?? '')
      if (!configuration || !endpoint || !isAllowedUrl(endpoint, { loopback: isLoopback(settings) }))
        return undefined
      return openid.buildEndSessionUrl(configuration, { post_logout_redirect_uri: `${baseUrl}/` })
    },
  }
}

/** Whether the provider runs on this machine, for development. */
const isLoopback = ({ issuer }: OpenidSettings): boolean => new URL(issuer).protocol === 'http:'

/**
 * Checks what the library leaves to its callers: the authorized party (OpenID Connect Core §3.1.3.7), the
 * type of JWT (RFC 8725 §3.11), and that it was not issued in the future.
 * @throws SignInRefusal
 */
function checkIdToken(
  idToken: string,
  { azp, iat }: openid.IDToken,
  { clientId, now_ms }: { clientId: string; now_ms: number },
): void {
  const { typ } = decodeProtectedHeader(idToken)
  if (typ !== undefined && typ.toUpperCase() !== 'JWT') throw new SignInRefusal('not_trusted', 'typ')
  if (azp !== undefined && azp !== clientId) throw new SignInRefusal('not_trusted', 'azp')
  if (iat > now_ms / 1_000 + CLOCK_SKEW_MAX_S) throw new SignInRefusal('not_trusted', 'iat')
}

/**
 * Many providers return most claims only from the UserInfo endpoint (OpenID Connect Core §5.4). `email` and
 * `email_verified` are taken from the same place, since each place vouches only for its own address.
 */
async function addUserInfo(
  configuration: openid.Configuration,
  { companyClaim, roleClaim, emailAlwaysVerified }: OpenidSettings,
  { claims, accessToken }: { claims: openid.IDToken; accessToken: string },
): Promise<Claims> {
  const has = (name: string) => Object.hasOwn(claims, name)
  const hasAddress = has('email') && (emailAlwaysVerified || has('email_verified'))
  const complete = hasAddress && has(companyClaim) && has(roleClaim)
  if (complete || !configuration.serverMetadata().userinfo_endpoint) return claims
  const userInfo = await openid.fetchUserInfo(configuration, accessToken, claims.sub)
  const { email, email_verified } = hasAddress ? claims : userInfo
  return { ...userInfo, ...claims, email, email_verified }
}

/** @throws SignInRefusal, or what the library throws. */
async function discover(settings: OpenidSettings): Promise<openid.Configuration> {
  const { issuer, clientId, clientSecret } = settings
  const server = new URL(issuer)
  const loopback = isLoopback(settings)
  const allowed = (url: URL) => isAllowedUrl(url, { loopback })
  const basic = openid.ClientSecretBasic(clientSecret)
  const post = openid.ClientSecretPost(clientSecret)
  const authenticate: openid.ClientAuth = (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...request)
  }
  const configuration = await openid.discovery(server, clientId, undefined, authenticate, {
    [openid.customFetch]: boundedFetch(allowed),
    timeout: DEADLINE_MS / 1_000,
    // By default, the library relies on TLS and skips the signature of an ID token from the token endpoint.
    execute: [openid.enableNonRepudiationChecks, ...(loopback ? [openid.allowInsecureRequests] : [])],
  })
  const metadata = configuration.serverMetadata()
  // Discovery §4.3: an exact match. The generic issuer of a multi-tenant provider is not a tenant's.
  if (metadata.issuer !== issuer) throw new SignInRefusal('not_trusted', 'another_issuer')
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    const url = URL.parse(metadata[name] ?? '')
    if (!url || !allowed(url)) throw new SignInRefusal('not_trusted', `no_usable_${name}`)
  }
  return configuration
}

/** Runs `work` within the deadline. @throws SignInRefusal for any failure. */
async function withinDeadline<T extends object>(work: Promise<T>): Promise<T> {
  const result = await within(DEADLINE_MS, work).catch((error: unknown) => {
    throw classifyFailure(error)
  })
  if (result === undefined) throw new SignInRefusal('unreachable', 'deadline')
  return result
}

/** Error codes of OAuth and the library are words. Nothing else from a provider reaches a log or a page. */
const WORD = /^[A-Za-z_]{1,60}$/
const word = (text: unknown): string | undefined =>
  typeof text === 'string' && WORD.test(text) ? text : undefined

/** openid-client's code for a provider that does not answer. */
const UNANSWERED = 'OAUTH_TIMEOUT'

function classifyFailure(error: unknown): SignInRefusal {
  if (error instanceof SignInRefusal) return error
  if (error instanceof openid.AuthorizationResponseError)
    return new SignInRefusal(error.error === 'access_denied' ? 'cancelled' : 'not_trusted', word(error.error))
  if (error instanceof openid.ResponseBodyError)
    return new SignInRefusal(error.status >= 500 ? 'unreachable' : 'not_trusted', word(error.error))
  if (error instanceof AnswerRejected) return new SignInRefusal('not_trusted', error.message)
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown; status?: unknown } }
  if (cause instanceof AnswerRejected) return new SignInRefusal('not_trusted', cause.message)
  const isUnreachable = Number(cause?.status) >= 500 || code === UNANSWERED || error instanceof TypeError
  return new SignInRefusal(isUnreachable ? 'unreachable' : 'not_trusted', word(cause?.code) ?? word(code))
}

/** An answer that is not accepted. The message is a word for the log. */
class AnswerRejected extends Error {}

/** A status without a body (Fetch §2.2.3). */
const NULL_BODY = [204, 205, 304]

/** Requests only `allowed` URLs, follows no redirect, and reads answers of bounded size. */
const boundedFetch =
  (allowed: (url: URL) => boolean): openid.CustomFetch =>
  async (url, options) => {
    if (!allowed(new URL(url))) throw new AnswerRejected('insecure_url')
    const { status, headers, body } = await fetch(url, { ...options, redirect: 'manual' } as RequestInit)
    const chunks: Uint8Array[] = []
    let size_bytes = 0
    for await (const chunk of body ?? []) {
      size_bytes += chunk.length
      if (size_bytes > ANSWER_MAX_BYTES) throw new AnswerRejected('answer_too_large')
      chunks.push(chunk)
    }
    const type = headers.get('content-type') ?? ''
    return new Response(NULL_BODY.includes(status) ? null : Buffer.concat(chunks), {
      status,
      headers: { 'content-type': type },
    })
  }
