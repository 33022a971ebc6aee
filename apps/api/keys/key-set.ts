import type { JWK } from 'jose'
import { z } from 'zod'
import { canImport, EcPublicKey, EdPublicKey, RsaPublicKey, SECRET_MEMBERS } from './public-key.ts'

const KEYS_MAX = 20
const SET_RULE = 'must be a JSON Web Key Set: an object with a list of keys'
const KEY_ID_MAX_CHARACTERS = 255

const P384_COORDINATE = z.string().regex(/^[A-Za-z0-9_-]{64}$/)
const Ec384PublicKey = z
  .object({ kty: z.literal('EC'), crv: z.literal('P-384'), x: P384_COORDINATE, y: P384_COORDINATE })
  .refine(canImport)
const keyMaterial = z.union([EcPublicKey, Ec384PublicKey, EdPublicKey, RsaPublicKey])
/** SPIFFE calls a key for signatures `jwt-svid`. */
const keyAttributes = z.object({
  kid: z.string().min(1).max(KEY_ID_MAX_CHARACTERS).optional(),
  alg: z.string().optional(),
  use: z.enum(['sig', 'jwt-svid']).optional(),
})

/** Returns the keys that may sign tokens, with only the members that verifying needs, or what is wrong. */
export function parseKeySet(set: unknown): JWK[] | string {
  const keys = (set as { keys?: unknown } | null)?.keys
  if (!Array.isArray(keys)) return SET_RULE
  if (keys.length > KEYS_MAX) return `must have at most ${KEYS_MAX} keys`
  if (!keys.every((key) => typeof key === 'object' && key !== null)) return SET_RULE
  if (keys.some((key) => Object.keys(key).some((name) => SECRET_MEMBERS.has(name))))
    return 'must not have a private or shared key: only public keys belong there'
  const usable = keys.flatMap((key): JWK[] => {
    const material = keyMaterial.safeParse(key)
    const attributes = keyAttributes.safeParse(key)
    if (!material.success || !attributes.success) return []
    const { kid, alg } = attributes.data
    return [{ ...material.data, ...(kid !== undefined && { kid }), ...(alg !== undefined && { alg }) }]
  })
  return usable.length > 0
    ? usable
    : 'must have a key for signatures: RSA of 2,048 to 4,096 bits, P-256, P-384 or Ed25519'
}

/** A key set that a person pastes. Only parseKeySet looks at the keys, once it has counted them. */
export const pastedKeys = z
  .strictObject({
    keys: z.nonoptional(z.unknown(), SET_RULE).meta({
      type: 'array',
      items: { type: 'object', additionalProperties: true },
      maxItems: KEYS_MAX,
    }),
  })
  .transform((set, context) => {
    const keys = parseKeySet(set)
    if (typeof keys !== 'string') return keys
    context.addIssue({ code: 'custom', message: keys })
    return z.NEVER
  })
  .meta({
    id: 'JsonWebKeySet',
    description: `At most ${KEYS_MAX} public keys (RFC 7517): RSA of 2,048 to 4,096 bits, P-256, P-384 or Ed25519. Keys of other kinds are ignored; a private one is refused.`,
  })
