import {
  type CryptoKey,
  compactVerify,
  generateKeyPair,
  type JWK,
  type ProtectedHeaderParameters,
} from 'jose'
import { ASSERTION_ALGORITHMS, algorithmsOf } from '#shared/oauth/client-credentials.ts'
import { invalidClient, type Refusal } from './refusal.ts'

const TYPES: readonly unknown[] = [undefined, 'JWT', 'client-authentication+jwt']

type KeyOwner = { publicKey: JWK | null } | undefined

/**
 * Returns why an assertion is not signed by this client, if it is not. The algorithm follows from the client's key.
 * Without one, a signature is verified all the same, so that the time of an answer does not reveal which ids are in use,
 * or how a client authenticates.
 */
export async function judgeSignature(
  { text, header }: { text: string; header: ProtectedHeaderParameters },
  client: KeyOwner,
): Promise<Refusal | undefined> {
  const alg = algorithmOf(header)
  if (!alg) return invalidClient('assertion_malformed')
  const { key, refusal } = await keyFor(alg, client)
  // jose remembers an imported JWK for as long as the client's record is.
  const forged = await compactVerify(text, key, { algorithms: [alg] }).then(
    () => undefined,
    () => invalidClient('assertion_wrong_key'),
  )
  return refusal ?? forged
}

/** Returns undefined for a header that no client's assertion may have. Keys named in it are ignored, as is any `kid`. */
const algorithmOf = ({ alg, typ, crit, b64 }: ProtectedHeaderParameters): string | undefined =>
  TYPES.includes(typ) && crit === undefined && b64 === undefined
    ? ASSERTION_ALGORITHMS.find((known) => known === alg)
    : undefined

/** Returns the client's key, or a stand-in and the reason why the client has none for this algorithm. */
async function keyFor(alg: string, client: KeyOwner): Promise<{ key: JWK | CryptoKey; refusal?: Refusal }> {
  const instead = async (reason: string) => ({ key: await standIn(alg), refusal: invalidClient(reason) })
  if (!client) return instead('unknown_client')
  const { publicKey } = client
  if (!publicKey) return instead('assertion_of_secret_client')
  return algorithmsOf(publicKey).includes(alg) ? { key: publicKey } : instead('assertion_wrong_algorithm')
}

const standIns: Record<string, Promise<CryptoKey>> = {}

/** Returns a key of the algorithm that has signed nothing. */
function standIn(alg: string): Promise<CryptoKey> {
  standIns[alg] ??= generateKeyPair(alg).then(({ publicKey }) => publicKey)
  return standIns[alg]
}
