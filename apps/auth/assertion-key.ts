import {
  type CryptoKey,
  compactVerify,
  generateKeyPair,
  type JWK,
  type ProtectedHeaderParameters,
} from 'jose'
import {
  ASSERTION_ALGORITHMS,
  algorithmsOf,
  type ClientCredentials,
} from '#shared/oauth/client-credentials.ts'
import { invalidClient, type Refusal } from './refusal.ts'

/** The type of an assertion that a client signs with its own key. */
const OWN_TYPE = 'client-authentication+jwt'
const TYPES: readonly unknown[] = [undefined, 'JWT', OWN_TYPE]

type Signed = { text: string; header: ProtectedHeaderParameters }
type KeyOwner = Pick<ClientCredentials, 'publicKey' | 'workload'> | undefined

/**
 * Returns why an assertion is not signed by this client, or by the issuer of its workload, if it is not. The algorithm
 * follows from the key. Without one, a signature is verified all the same, so that the time of an answer does not reveal
 * which ids are in use, or how a client authenticates.
 */
export async function judgeSignature(assertion: Signed, client: KeyOwner): Promise<Refusal | undefined> {
  const alg = ASSERTION_ALGORITHMS.find((known) => known === assertion.header.alg)
  if (!alg) return invalidClient('assertion_malformed')
  const found = keyFor(alg, assertion, client)
  const isKey = typeof found === 'object'
  // jose remembers an imported JWK for as long as the client's record is.
  const key = isKey ? found : (standIns.get(alg) as CryptoKey)
  const forged = await compactVerify(assertion.text, key, { algorithms: [alg] }).then(
    () => undefined,
    () => invalidClient('assertion_wrong_key'),
  )
  return isKey ? forged : invalidClient(found)
}

/**
 * Returns the key that the signature must be of, or the reason why there is none. Keys named in the header are ignored,
 * and only an issuer's `kid` counts.
 */
function keyFor(alg: string, { header }: Signed, client: KeyOwner): JWK | string {
  const { typ, crit, b64 } = header
  if (!TYPES.includes(typ) || crit !== undefined || b64 !== undefined) return 'assertion_malformed'
  if (!client) return 'unknown_client'
  const { publicKey, workload } = client
  if (!publicKey && !workload) return 'assertion_of_secret_client'
  if (workload && typ === OWN_TYPE) return 'assertion_malformed'
  const keys = publicKey ? [publicKey] : (workload?.keys.filter(({ kid }) => kid === header.kid) ?? [])
  if (keys.length === 0) return 'workload_unknown_key'
  return keys.find((key) => algorithmsOf(key).includes(alg)) ?? 'assertion_wrong_algorithm'
}

/** A key of each algorithm that has signed nothing, made before the first request. */
const standIns = new Map(
  await Promise.all(
    ASSERTION_ALGORITHMS.map(async (alg) => [alg, (await generateKeyPair(alg)).publicKey] as const),
  ),
)
