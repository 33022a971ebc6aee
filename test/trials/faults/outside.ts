import { freePort } from '../../support/ports.ts'
import { startServiceChild } from '../../support/process.ts'
import { createTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { API_RESOURCE, ISSUER, type ServiceSite, type Site, startSite } from './site.ts'
import { type Witness, watchPage } from './witness.ts'

/** An outside verifier accepts nothing whose revocation was answered so long ago, as long as it gets pages. */
export const OUTSIDE_MARGIN_MS = 3_000
/** Without a page for so long, an outside verifier accepts nothing at all. */
export const OUTSIDE_BLIND_MS = 11_000

/** Services of somebody else, which reach the authorization server by one address and have nothing else. */
export interface Outside {
  sites: Site[]
  /** The network between them and both processes of the authorization server, taken in turn. */
  network: TcpProxy
  /** Sees whether they could have had a page. */
  witness: Witness
  close(): Promise<void>
}

export async function createOutside(auth: readonly ServiceSite[]): Promise<Outside> {
  const network = await createTcpProxy(...auth.map(({ url }) => Number(new URL(url).port)))
  const baseUrl = `http://127.0.0.1:${network.port}`
  const witness = watchPage(`${baseUrl}/v1/oauth/revocations`)
  const sites: Site[] = []
  const close = async () => {
    await witness.stop()
    await Promise.all(sites.map((site) => site.close()))
    await network.close()
  }
  try {
    sites.push(await startOutsideService(baseUrl))
    return { sites, network, witness, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function startOutsideService(baseUrl: string): Promise<Site> {
  const port = await freePort()
  const env = { BASE_URL: baseUrl, ISSUER, API_RESOURCE, PORT: String(port) }
  return startSite(
    { name: 'outside, by the package', service: 'outside', url: `http://127.0.0.1:${port}` },
    () => startServiceChild('test/trials/faults/outside-service.ts', env),
  )
}
