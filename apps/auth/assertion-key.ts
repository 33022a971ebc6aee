import {
  type CryptoKey,
  compactVerify,
  generateKeyPair,
  type JWK,
  type ProtectedHeaderParameters,
} from 'jose'
import {
  ASSERTION_ALGORITHMS,
  assertionAlgorithms,
  type ClientCredentials,
} from '#shared/oauth/client-credentials.ts'
import { invalidClient } from './http.ts'

/** A media type, in lower case and without `application/` (RFC 7515 §4.1.9). */
const CLIENT_TYPES: readonly unknown[] = [undefined, 'jwt', 'client-authentication+jwt']
/** SPIFFE calls it JOSE too (JWT-SVID §2.3). */
const WORKLOAD_TYPES: readonly unknown[] = [undefined, 'jwt', 'jose']

type SignedAssertion = { text: string; header: ProtectedHeaderParameters }
type KeyOwner = Pick<ClientCredentials, 'publicKey' | 'workload'> | undefined

/**
 * Returns the refusal unless this client, or its workload's issuer, signed the assertion. The key determines
 * the algorithm. If there is no key, a stand-in is used, so that response time does not reveal which ids
 * exist or how a client authenticates.
 */
export async function checkSignature(assertion: SignedAssertion, client: KeyOwner) {
  const alg = ASSERTION_ALGORITHMS.find((name) => name === assertion.header.alg)
  if (!alg) return invalidClient('assertion_malformed')
  const keyOrReason = findKey(alg, assertion, client)
  const isKey = typeof keyOrReason === 'object'
  // jose caches the imported key by its JWK object, and so for as long as the client record is cached.
  const key = isKey ? keyOrReason : (standIns.get(alg) as CryptoKey)
  const refusal = await compactVerify(assertion.text, key, { algorithms: [alg] }).then(
    () => undefined,
    () => invalidClient('assertion_wrong_key'),
  )
  return isKey ? refusal : invalidClient(keyOrReason)
}

/**
 * Returns the key to verify the signature with, or the reason why there is none. Keys in the header are
 * ignored. `kid` matters only for a workload, and is a hint (RFC 7515 §4.1.4): without it, the key is the one
 * of that algorithm.
 */
function findKey(alg: string, { header }: SignedAssertion, client: KeyOwner): JWK | string {
  const { crit, b64, kid } = header
  if (!client) return 'unknown_client'
  const { publicKey, workload } = client
  if (!publicKey && !workload) return 'assertion_of_secret_client'
  const typ: unknown =
    typeof header.typ === 'string' ? header.typ.toLowerCase().replace(/^application\//, '') : header.typ
  const types = workload ? WORKLOAD_TYPES : CLIENT_TYPES
  if (!types.includes(typ) || crit !== undefined || b64 !== undefined) return 'assertion_malformed'
  const id = typeof kid === 'number' ? String(kid) : (kid ?? undefined)
  const keys = workload?.keys.filter((key) => id === undefined || key.kid === id) ?? [publicKey as JWK]
  if (keys.length === 0) return 'workload_unknown_key'
  const [key, ...others] = keys.filter((candidate) => assertionAlgorithms(candidate).includes(alg))
  if (!key) return 'assertion_wrong_algorithm'
  return id !== undefined || others.length === 0 ? key : 'workload_no_kid'
}

/** One key for each algorithm, which has signed nothing. They exist before the first request. */
const standIns = new Map(
  await Promise.all(
    ASSERTION_ALGORITHMS.map(async (alg) => [alg, (await generateKeyPair(alg)).publicKey] as const),
  ),
)
