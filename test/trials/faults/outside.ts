import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../support/ports.ts'
import { type ServiceChild, startServiceChild } from '../../support/process.ts'
import { createTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { type Site, startSite } from './site.ts'
import { type Witness, watchPage } from './witness.ts'

const run = promisify(execFile)
const DOCS_PAGE = join(import.meta.dirname, '../../../apps/api/discovery/docs/pages/verify.md')

/** An outside verifier accepts nothing whose revocation was answered so long ago, as long as it gets pages. */
export const OUTSIDE_MARGIN_MS = 3_000
/** Without a page for so long, an outside verifier accepts nothing at all. */
export const OUTSIDE_BLIND_MS = 11_000

/** Services of somebody else, which know one address of the authorization server and nothing else. */
export interface Outside {
  baseUrl: string
  /** The way from that address to both processes of the authorization server, taken in turn. */
  network: TcpProxy
  /** By the package and, if Python with PyJWT is on this machine, by the example of the documentation. */
  sites: Site[]
  /** Sees whether they could have had a page. */
  witness: Witness
  /** Call it once the authorization server listens. */
  start(auth: readonly Pick<Site, 'url'>[]): Promise<void>
  close(): Promise<void>
}

export async function createOutside(): Promise<Outside> {
  const network = await createTcpProxy()
  const baseUrl = `http://127.0.0.1:${network.port}`
  const sites: Site[] = []
  const witness = watchPage(`${baseUrl}/v1/oauth/revocations`)
  return {
    baseUrl,
    network,
    sites,
    witness,
    async start(auth) {
      network.lead(...auth.map(({ url }) => Number(new URL(url).port)))
      const path = 'test/trials/faults/outside-service.ts'
      sites.push(await startOutside('the package', baseUrl, (env) => startServiceChild(path, env)))
      if (await hasPyJwt()) sites.push(await startOutside('Python', baseUrl, startPython))
    },
    async close() {
      await witness.stop()
      await Promise.all(sites.map((site) => site.close()))
      await network.close()
    },
  }
}

const hasPyJwt = (): Promise<boolean> =>
  run('python3', [
    '-c',
    'import jwt, cryptography; jwt.PyJWKClient("http://localhost", cooldown_duration=10)',
  ]).then(
    () => true,
    () => false,
  )

async function startOutside(
  what: string,
  baseUrl: string,
  start: (env: Record<string, string>) => Pick<ServiceChild, 'process' | 'exit' | 'stderr'>,
): Promise<Site> {
  const port = await freePort()
  const fixed = { name: `outside by ${what}`, service: 'outside', url: `http://127.0.0.1:${port}` } as const
  return startSite(fixed, () => start({ BASE_URL: baseUrl, PORT: String(port) }))
}

function startPython(env: Record<string, string>) {
  const child = spawn('python3', [join(import.meta.dirname, 'outside_service.py'), DOCS_PAGE], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk
  })
  const exit = once(child, 'exit').then(() => ({ code: child.exitCode, signal: child.signalCode }))
  return { process: child, exit, stderr: () => stderr }
}
