import type { JWK } from 'jose'
import { z } from 'zod'
import { assertionAlgorithms } from '#shared/oauth/client-credentials.ts'
import { canImport, EcPublicKey, EdPublicKey, RsaPublicKey, SECRET_MEMBERS } from './public-key.ts'

/** The most keys of a set that can verify a signature. */
export const KEYS_MAX = 100
/** The most keys in all: reading one takes time even if it is dropped. */
const KEYS_READ_MAX = 300
const SET_RULE = 'must be a JSON Web Key Set: an object with a list of keys'
/** Excludes NUL and lone surrogates, which jsonb refuses. */
const KEY_ID = /^[^\0\p{Cs}]{1,255}$/u

const P384_COORDINATE = z.string().regex(/^[A-Za-z0-9_-]{64}$/)
const Ec384PublicKey = z
  .object({ kty: z.literal('EC'), crv: z.literal('P-384'), x: P384_COORDINATE, y: P384_COORDINATE })
  .refine(canImport)
const KEY_MATERIAL = new Map<unknown, z.ZodType<JWK>>([
  ['P-256', EcPublicKey],
  ['P-384', Ec384PublicKey],
  ['Ed25519', EdPublicKey],
  ['RSA', RsaPublicKey],
])
/** SPIFFE calls a key for signatures `jwt-svid`. Some issuers write null for what is absent, or a number. */
const keyAttributes = z.object({
  kid: z.union([z.string().regex(KEY_ID), z.number().transform(String)]).nullish(),
  alg: z.string().nullish(),
  use: z.enum(['sig', 'jwt-svid']).nullish(),
})

/** Returns the keys that can verify tokens, with only the members that verifying needs, or what is wrong. */
export function parseKeySet(set: unknown): JWK[] | string {
  const keys = (set as { keys?: unknown } | null)?.keys
  if (!Array.isArray(keys)) return SET_RULE
  if (keys.length > KEYS_READ_MAX)
    return `must have at most ${KEYS_READ_MAX} keys, those included that cannot verify a signature`
  if (!keys.every((key) => typeof key === 'object' && key !== null)) return SET_RULE
  if (keys.some((key) => Object.keys(key).some((name) => SECRET_MEMBERS.has(name))))
    return 'must not have a private or shared key: destroy it, since only public keys belong there'
  const usable: JWK[] = []
  for (const key of keys) {
    const jwk = parseKey(key)
    if (jwk) usable.push(jwk)
    if (usable.length > KEYS_MAX) return `must have at most ${KEYS_MAX} keys that can verify a signature`
  }
  return usable.length > 0
    ? usable
    : 'must have a key for signatures: RSA of 2,048 to 4,096 bits for RS256 or PS256, P-256, P-384 or Ed25519'
}

/** Returns undefined if the key cannot verify a signature. */
function parseKey(key: JWK): JWK | undefined {
  const attributes = keyAttributes.safeParse(key)
  if (!attributes.success) return undefined
  const material = KEY_MATERIAL.get(key.kty === 'RSA' ? 'RSA' : key.crv)?.safeParse(key)
  if (!material?.success) return undefined
  const { kid, alg } = attributes.data
  const jwk: JWK = { ...material.data, ...(kid && { kid }), ...(alg && { alg }) }
  return assertionAlgorithms(jwk).length > 0 ? jwk : undefined
}

/** A key set that a person pastes. Only parseKeySet looks at the keys, once it has counted them. */
export const pastedKeys = z
  .strictObject(
    {
      keys: z.nonoptional(z.unknown(), SET_RULE).meta({
        type: 'array',
        items: { type: 'object', additionalProperties: true },
        maxItems: KEYS_READ_MAX,
      }),
    },
    { error: ({ code }) => (code === 'invalid_type' ? SET_RULE : undefined) },
  )
  .transform((set, context) => {
    const keys = parseKeySet(set)
    if (typeof keys !== 'string') return keys
    context.addIssue({ code: 'custom', message: keys })
    return z.NEVER
  })
  .meta({
    id: 'JsonWebKeySet',
    description: `Public keys (RFC 7517): RSA of 2,048 to 4,096 bits, P-256, P-384 or Ed25519, at most ${KEYS_MAX}. Keys of other kinds are ignored; a private one is refused.`,
  })
