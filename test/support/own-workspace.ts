import { join } from 'node:path'
import { startGateway } from '../../infra/local/gateway/gateway.ts'
import { builtPages } from '../../infra/local/gateway/pages.ts'
import { buildWorkspace } from '../../infra/local/workspace-build.ts'
import { startApi, type TestApiOptions } from './api.ts'
import { freePort } from './ports.ts'

/** The screens before an API with a test's settings, clock and DNS. What is at 127.0.0.1 is another site. */
export async function startOwnWorkspace(
  configure: (baseUrl: string) => TestApiOptions | Promise<TestApiOptions>,
) {
  const port = await freePort()
  const baseUrl = `http://localhost:${port}`
  const { env, ...options } = await configure(baseUrl)
  const service = await startApi({ ...options, env: { API_RESOURCE: baseUrl, ...env } })
  const { url } = service
  const pages = builtPages(await buildWorkspace(join(import.meta.dirname, '../..'), () => {}))
  const gateway = await startGateway({ port, auth: url, api: url, pages, apiResource: baseUrl })
  return {
    baseUrl,
    service,
    async [Symbol.asyncDispose]() {
      gateway.kill()
      await service.stop()
    },
  }
}
