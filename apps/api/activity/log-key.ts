import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, type JWK, type JWTPayload, SignJWT } from 'jose'
import { z } from 'zod'
import type { ActivityAction } from '#shared/accounts/activity.ts'
import type { LogRoot } from '#shared/accounts/activity-log.ts'

const KEYS =
  /^MC4CAQAwBQYDK2VwBCIEI[A-P][A-Za-z0-9+/]{42}(?:,MC4CAQAwBQYDK2VwBCIEI[A-P][A-Za-z0-9+/]{42}){0,7}$/

/** One Ed25519 key as PKCS #8 in base64, or several, separated by commas, newest first: the first signs. */
export const logSigningKeys = z
  .string()
  .regex(
    KEYS,
    'must be an Ed25519 key, or several separated by commas: openssl genpkey -algorithm ed25519 -outform der | base64 -w0',
  )
  .transform((text) =>
    text
      .split(',')
      .map((key) => createPrivateKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'pkcs8' })),
  )

export interface Act {
  action: ActivityAction
  subject: string
  vendorId: string
  userId: string
}

export interface LogSigner {
  /** Returns a JWS. */
  signHead(head: LogRoot): Promise<string>
  /** Returns a JWS, the receipt of an act that the log will hold after `head`. */
  signReceipt(act: Act, head: LogRoot | undefined): Promise<string>
  /** What verifies the JWS of each key, the older ones too. */
  publicKeys(): Promise<{ keys: JWK[] }>
}

/** @param keys Not empty. */
export function createLogSigner(keys: readonly KeyObject[], { issuer }: { issuer: string }): LogSigner {
  const published = Promise.all(
    keys.map(async (key) => {
      const jwk = await exportJWK(createPublicKey(key))
      return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'EdDSA', use: 'sig' }
    }),
  )
  async function sign(typ: string, claims: JWTPayload): Promise<string> {
    const [{ kid }] = (await published) as [JWK & { kid: string }]
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'EdDSA', kid, typ })
      .setIssuer(issuer)
      .setIssuedAt()
      .sign(keys[0] as KeyObject)
  }
  const claimsOf = ({ treeSize, rootHash }: LogRoot) => ({
    treeSize,
    rootHash: rootHash.toString('base64url'),
  })
  return {
    signHead: (head) => sign('activity-head+jwt', claimsOf(head)),
    signReceipt: (act, head) => sign('activity-receipt+jwt', { ...act, after: head ? claimsOf(head) : null }),
    publicKeys: async () => ({ keys: await published }),
  }
}
