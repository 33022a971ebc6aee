import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../support/ports.ts'
import { startServiceChild } from '../../support/process.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'
import { type Site, startSite } from './site.ts'

/** An outside verifier accepts nothing whose revocation was answered so long ago, as long as it gets pages. */
export const OUTSIDE_MARGIN_MS = 3_000
/** Without a page for so long, an outside verifier accepts nothing at all. */
export const OUTSIDE_BLIND_MS = 11_000
const ASK_EVERY_MS = 200
/** A page that takes longer does not count as available. */
const PAGE_MAX_MS = 500

/** A service of somebody else, by the package, which knows one address of the authorization server and nothing else. */
export async function createOutside() {
  const network = await createTcpProxy()
  const baseUrl = `http://127.0.0.1:${network.port}`
  const sites: Site[] = []
  const misses: { from_ms: number; to_ms: number }[] = []
  let closing = false

  /** Asks for the revocations page by the same way as the outside verifiers. */
  async function askForPage(): Promise<void> {
    const from_ms = performance.now()
    const signal = AbortSignal.timeout(PAGE_MAX_MS)
    // A connection of its own each time, so that each process behind the address is asked in turn.
    const came = await fetch(`${baseUrl}/v1/oauth/revocations`, { signal, headers: { connection: 'close' } })
      .then(async (response) => response.ok && (await response.text()).length > 0)
      .catch(() => false)
    if (!came) misses.push({ from_ms, to_ms: performance.now() })
  }
  const watching = (async () => {
    for (; !closing; await sleep(ASK_EVERY_MS)) await askForPage()
  })()
  return {
    baseUrl,
    /** The way from that address to both processes of the authorization server, taken in turn. */
    network,
    sites,
    /** Whether every page that could be asked for between the two (of performance.now()) came, and soon. */
    sawPages: (from_ms: number, to_ms: number): boolean =>
      !misses.some((miss) => miss.from_ms <= to_ms && from_ms <= miss.to_ms),
    /** Call it once the authorization server listens. */
    async start(auth: readonly Pick<Site, 'url'>[]) {
      network.lead(...auth.map(({ url }) => Number(new URL(url).port)))
      const port = await freePort()
      const fixed = { name: 'outside', service: 'outside', url: `http://127.0.0.1:${port}` } as const
      const env = { BASE_URL: baseUrl, PORT: String(port) }
      const path = 'test/trials/faults/outside-service.ts'
      sites.push(await startSite(fixed, () => startServiceChild(path, env)))
    },
    async close() {
      closing = true
      await watching
      await Promise.all(sites.map((site) => site.close()))
      await network.close()
    },
  }
}
