import { EncryptJWT, jwtDecrypt } from 'jose'
import { randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client'
import { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { ApiContext } from '../http/state.ts'
import { createCookie } from '../sessions/cookie.ts'

/** How long a person has at the provider. */
export const PENDING_SIGN_IN_LIFETIME_S = 600

const PendingSignIn = z.object({
  /** Ties the provider's redirect to this browser (RFC 6749 §10.12). */
  state: z.string(),
  /** Ties the ID token to this sign-in (OpenID Connect Core §15.5.2). */
  nonce: z.string(),
  /** Ties the code to this sign-in (RFC 7636). */
  codeVerifier: z.string(),
  /** The workspace path to open afterwards. */
  to: z.string(),
  /** Whether the person must sign in again even if signed in at the provider. */
  fresh: z.boolean(),
  /**
   * The base64url token hash of the session that this sign-in replaces. The provider's redirect comes from
   * another site, so it does not bring that session's cookie.
   */
  replaces: z.string().optional(),
})
export type PendingSignIn = z.infer<typeof PendingSignIn>

const ENCRYPTION = 'A256GCM'

const SEALED = /[A-Za-z0-9_.-]+/

/**
 * Creates the store of pending sign-ins: each is encrypted in a cookie of its browser, so nothing is stored
 * here. The cookie is Lax, since the provider's redirect comes from another site. A sibling host that could
 * set it could sign a person in as someone else.
 */
export function createPendingSignIns({
  db,
  clock,
  baseUrl,
  issuer,
}: {
  db: Database
  clock: Clock
  baseUrl: string
  issuer: string
}) {
  const cookie = createCookie({ baseUrl, plainName: 'openid', value: SEALED, sameSite: 'Lax' })
  const key = async (): Promise<Buffer> => (await db.raw('select key from openid_cookie_key')).rows[0].key

  return {
    create: (start: Pick<PendingSignIn, 'to' | 'fresh' | 'replaces'>): PendingSignIn => ({
      state: randomState(),
      nonce: randomNonce(),
      codeVerifier: randomPKCECodeVerifier(),
      ...start,
    }),
    /** Stores it in the browser, replacing an earlier one. */
    async save(ctx: ApiContext, pending: PendingSignIn): Promise<void> {
      const sealed = await new EncryptJWT(pending)
        .setProtectedHeader({ alg: 'dir', enc: ENCRYPTION })
        .setIssuer(issuer)
        .setExpirationTime(Math.floor(clock.now() / 1_000) + PENDING_SIGN_IN_LIFETIME_S)
        .encrypt(await key())
      cookie.write(ctx, sealed, PENDING_SIGN_IN_LIFETIME_S)
    },
    /** Returns undefined when the request has none, or an expired one. */
    async read(ctx: ApiContext): Promise<PendingSignIn | undefined> {
      const sealed = cookie.read(ctx)
      if (sealed === undefined) return undefined
      const decrypted = await jwtDecrypt(sealed, await key(), {
        currentDate: new Date(clock.now()),
        issuer,
        requiredClaims: ['exp'],
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: [ENCRYPTION],
      }).catch(() => undefined)
      return PendingSignIn.safeParse(decrypted?.payload).data
    },
    clear: (ctx: ApiContext) => cookie.write(ctx, '', 0),
  }
}
