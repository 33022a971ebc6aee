import { repeat } from '../../support/repeat.ts'
import type { TcpProxy } from '../../support/tcp-proxy.ts'
import { createSite } from './site.ts'

/** An outside verifier that gets pages accepts nothing whose revocation was answered longer ago than this. */
export const OUTSIDE_MARGIN_MS = 3_000
/** Without a page for so long, an outside verifier accepts nothing at all. */
export const OUTSIDE_BLIND_MS = 11_000
const ASK_EVERY_MS = 200
/** A page that takes longer does not count as available. */
const PAGE_MAX_MS = 500

/**
 * A foreign service that uses the package, and knows one address of the authorization server and nothing
 * else.
 */
export async function createOutside(network: TcpProxy) {
  const baseUrl = `http://127.0.0.1:${network.port}`
  let missedAt_ms = 0

  /** Asks for the revocations page by the same way as the outside verifier. */
  async function askForPage(): Promise<void> {
    const signal = AbortSignal.timeout(PAGE_MAX_MS)
    // A connection of its own each time, so that each process behind the address is asked in turn.
    const came = await fetch(`${baseUrl}/v1/oauth/revocations`, { signal, headers: { connection: 'close' } })
      .then(async (response) => response.ok && (await response.text()).length > 0)
      .catch(() => false)
    if (!came) missedAt_ms = performance.now()
  }
  const main = 'test/trials/faults/outside-service.ts'
  const site = await createSite({ name: 'outside', service: 'outside', main, env: { BASE_URL: baseUrl } })
  const stopAsking = repeat(ASK_EVERY_MS, askForPage)
  return {
    ...site,
    network,
    /** Whether a page that was asked for since then (of performance.now()) did not come, or late. */
    missedPageSince: (from_ms: number) => missedAt_ms >= from_ms,
    async [Symbol.asyncDispose]() {
      await Promise.all([stopAsking(), site.kill()])
    },
  }
}
