import { systemClock } from '#shared/process/clock.ts'
import { runService } from '#shared/process/service-process.ts'
import { readAuthConfig } from './config.ts'
import { createAuthServer } from './server.ts'

await runService(process.env, process.argv.slice(2), {
  name: 'auth',
  readConfig: readAuthConfig,
  createHttpServer: createAuthServer,
  async load() {
    const { createAuthService } = await import('./service.ts')
    return (parts) => createAuthService({ ...parts, clock: systemClock })
  },
})
