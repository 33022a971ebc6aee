import { addressSubject } from '#shared/stores/rate-limit.ts'
import { indexOfPassword, unusableHash } from '../accounts/passwords.ts'
import { createFairQueue } from '../http/fair-queue.ts'
import { unavailable } from '../problems/problems.ts'

const WAITING_MAX = 64
const WAIT_MS = 8_000

/** Where a password is tried from, and whether the account knows that address or browser. */
export interface PasswordClient {
  address: string
  known: boolean
}

export type PasswordQueue = ReturnType<typeof createPasswordQueue>

export function createPasswordQueue() {
  const dummyHashes = [unusableHash()]
  const refusal = () => unavailable('Too many people are signing in. Try again in a moment.')
  // A hash takes one of libuv's four threads and 19 MiB for about 30 ms.
  const known = createFairQueue({ concurrency: 1, waitingMax: WAITING_MAX, wait_ms: WAIT_MS, refusal })
  const strangers = createFairQueue({ concurrency: 2, waitingMax: WAITING_MAX, wait_ms: WAIT_MS, refusal })

  /**
   * Runs `work`, which hashes one password, when its turn comes. Addresses take turns. Clients that the
   * account knows have their own queue, so that no number of strangers can keep its owner out.
   * @throws Problem unavailable when too many are already waiting.
   */
  const runQueued = <T>(client: PasswordClient, work: () => Promise<T>): Promise<T> =>
    (client.known ? known : strangers)(addressSubject(client.address, 48), work)

  return {
    runQueued,
    /** Returns the account with this password. The work is the same for any number of accounts, even none. */
    findAccount: <T extends { passwordHash: string }>(
      client: PasswordClient,
      password: string,
      accounts: readonly T[],
    ) =>
      runQueued(client, async () => {
        const hashes = accounts.map(({ passwordHash }) => passwordHash)
        return accounts[await indexOfPassword(password, hashes.length > 0 ? hashes : dummyHashes)]
      }),
  }
}
