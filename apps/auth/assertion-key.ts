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

/** The type of an assertion that a client signs with its own key. */
const CLIENT_TYPE = 'client-authentication+jwt'
const TYPES: readonly unknown[] = [undefined, 'JWT', CLIENT_TYPE]

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
 * ignored. `kid` matters only for a workload.
 */
function findKey(alg: string, { header }: SignedAssertion, client: KeyOwner): JWK | string {
  const { typ, crit, b64 } = header
  if (!TYPES.includes(typ) || crit !== undefined || b64 !== undefined) return 'assertion_malformed'
  if (!client) return 'unknown_client'
  const { publicKey, workload } = client
  if (!publicKey && !workload) return 'assertion_of_secret_client'
  if (workload && typ === CLIENT_TYPE) return 'assertion_malformed'
  const keys = publicKey ? [publicKey] : (workload?.keys.filter(({ kid }) => kid === header.kid) ?? [])
  if (keys.length === 0) return 'workload_unknown_key'
  return keys.find((key) => assertionAlgorithms(key).includes(alg)) ?? 'assertion_wrong_algorithm'
}

/** One key for each algorithm, which has signed nothing. They exist before the first request. */
const standIns = new Map(
  await Promise.all(
    ASSERTION_ALGORITHMS.map(async (alg) => [alg, (await generateKeyPair(alg)).publicKey] as const),
  ),
)
