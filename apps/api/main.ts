import { systemClock } from '#shared/process/clock.ts'
import { runService } from '#shared/process/service-process.ts'
import { readApiConfig } from './config.ts'
import { createApiServer } from './http/server.ts'

await runService(process.env, process.argv.slice(2), {
  name: 'api',
  readConfig: readApiConfig,
  createHttpServer: createApiServer,
  async load() {
    const { createService } = await import('./compose.ts')
    return (parts) => createService({ ...parts, clock: systemClock })
  },
})
