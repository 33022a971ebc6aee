import { freePort } from '../../support/ports.ts'
import { startServiceChild } from '../../support/process.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'
import { type Site, startSite } from './site.ts'
import { watchPage } from './witness.ts'

/** An outside verifier accepts nothing whose revocation was answered so long ago, as long as it gets pages. */
export const OUTSIDE_MARGIN_MS = 3_000
/** Without a page for so long, an outside verifier accepts nothing at all. */
export const OUTSIDE_BLIND_MS = 11_000

/** A service of somebody else, by the package, which knows one address of the authorization server and nothing else. */
export async function createOutside() {
  const network = await createTcpProxy()
  const baseUrl = `http://127.0.0.1:${network.port}`
  const sites: Site[] = []
  const witness = watchPage(`${baseUrl}/v1/oauth/revocations`)
  return {
    baseUrl,
    /** The way from that address to both processes of the authorization server, taken in turn. */
    network,
    sites,
    /** Sees whether they could have had a page. */
    witness,
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
      await witness.stop()
      await Promise.all(sites.map((site) => site.close()))
      await network.close()
    },
  }
}
