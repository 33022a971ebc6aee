import { join, relative } from 'node:path'
import { type TestClient, tokenFields } from '../../support/auth.ts'
import { freePort } from '../../support/ports.ts'
import { type ServiceChild, startServiceChild } from '../../support/process.ts'
import type { TestRedis } from '../../support/servers.ts'

/** Both services as processes of their own. */
export interface Installation {
  authUrl: string
  apiUrl: string
  auth: ServiceChild
  api: ServiceChild
  /** @returns the status, and the access token if there is one. */
  token(client: TestClient): Promise<{ status: number; accessToken: string }>
  /** @returns the status and the text of the client's daily figures. */
  daily(client: TestClient, accessToken: string): Promise<{ status: number; text: string }>
  /** What each service has logged, as JSON lines. */
  logs(): string[]
  stop(): Promise<void>
}

export interface InstallationOptions {
  databaseUrls: Record<'auth' | 'api', string>
  redis: TestRedis
  keyEncryptionKey: string
  /** Where the services' code is. Default: here. */
  root?: string
  env?: Record<string, string>
}

const ROOT = join(import.meta.dirname, '../../..')
const MANY = '1000000/60'

export async function startInstallation({
  databaseUrls,
  redis,
  keyEncryptionKey,
  root = ROOT,
  env = {},
}: InstallationOptions): Promise<Installation> {
  const [authPort, apiPort] = [await freePort(), await freePort()]
  const [authUrl, apiUrl] = [authPort, apiPort].map((port) => `http://127.0.0.1:${port}`) as [string, string]
  const common = { ISSUER: 'https://issuer.test', API_RESOURCE: 'https://api.test', ...env }
  const auth = startServiceChild(join(relative(ROOT, root), 'apps/auth/main.ts'), {
    ...common,
    DATABASE_URL: databaseUrls.auth,
    REDIS_URL: redis.url('auth'),
    KEY_ENCRYPTION_KEY: keyEncryptionKey,
    RATE_TOKEN_PER_CLIENT: MANY,
    PORT: String(authPort),
  })
  const api = startServiceChild(join(relative(ROOT, root), 'apps/api/main.ts'), {
    ...common,
    DATABASE_URL: databaseUrls.api,
    REDIS_URL: redis.url('api'),
    JWKS_URL: `${authUrl}/v1/oauth/jwks`,
    RATE_API_PER_CLIENT: MANY,
    RATE_API_EVENTS_PER_CLIENT: MANY,
    PORT: String(apiPort),
  })
  await Promise.all([auth.logged('ready'), api.logged('ready')])
  return {
    authUrl,
    apiUrl,
    auth,
    api,
    async token(client) {
      const body = new URLSearchParams(tokenFields(client))
      const response = await fetch(`${authUrl}/v1/oauth/token`, { method: 'POST', body })
      const { access_token: accessToken = '' } = (await response.json()) as { access_token?: string }
      return { status: response.status, accessToken }
    },
    async daily({ vendorId }, accessToken) {
      const headers = { Authorization: `Bearer ${accessToken}` }
      const response = await fetch(`${apiUrl}/v1/analytics/${vendorId}/daily`, { headers })
      return { status: response.status, text: await response.text() }
    },
    logs: () => [auth, api].map(({ lines }) => lines.map((line) => `${JSON.stringify(line)}\n`).join('')),
    async stop() {
      await Promise.all([auth.kill(), api.kill()])
    },
  }
}
