import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'

export const DNS_DEADLINE_MS = 3_000
const TRY_MS = 1_000
const TRIES = 2

/** DNS's answer for a name. */
export interface Resolution {
  /** Every A and AAAA answer, in no particular order. */
  addresses: string[]
  /** Whether both queries were answered, so that `addresses` is complete. */
  complete: boolean
  /** Why there is no address; null if there is one. */
  failure: ResolutionFailure | null
}

/** `not_found`: the name does not exist or has no address. `no_answer`: no usable answer in time. */
export type ResolutionFailure = 'not_found' | 'no_answer'

/** Never rejects. Resolves within about 3 s, or at once when `signal` is aborted. */
export type Resolve = (name: string, signal?: AbortSignal) => Promise<Resolution>

/**
 * Queries the system's name servers directly (c-ares), without a hosts file, search list or cache, so that a
 * name resolves as it does for everyone else.
 * @param servers other name servers, as `address` or `address:port`.
 */
export function createResolver({
  servers,
  deadline_ms = DNS_DEADLINE_MS,
}: {
  servers?: readonly string[]
  deadline_ms?: number
} = {}): Resolve {
  return async (name, signal) => {
    // One resolver per call, because cancelling a resolver ends all its queries.
    const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    const timer = setTimeout(cancel, deadline_ms)
    signal?.addEventListener('abort', cancel)
    try {
      if (signal?.aborted) return { addresses: [], complete: false, failure: 'no_answer' }
      return combine(
        await Promise.all([readAnswer(resolver.resolve4(name)), readAnswer(resolver.resolve6(name))]),
      )
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
    }
  }
}

type DnsAnswer = { addresses: string[]; answered: boolean }

/** ENODATA: the name exists without an address of this family. ENOTFOUND: NXDOMAIN. */
async function readAnswer(query: Promise<string[]>): Promise<DnsAnswer> {
  try {
    return { addresses: (await query).filter((address) => isIP(address) !== 0), answered: true }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return { addresses: [], answered: code === 'ENODATA' || code === 'ENOTFOUND' }
  }
}

function combine(answers: readonly DnsAnswer[]): Resolution {
  const addresses = [...new Set(answers.flatMap((answer) => answer.addresses))]
  const complete = answers.every((answer) => answer.answered)
  const failure = addresses.length > 0 ? null : complete ? 'not_found' : 'no_answer'
  return { addresses, complete, failure }
}
