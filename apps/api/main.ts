import { systemClock } from '#shared/process/clock.ts'
import { runService } from '#shared/process/service-process.ts'
import { apiShape, readApiConfig } from './config.ts'
import { createHttpServer } from './http/server.ts'
import { createService } from './service.ts'

await runService(process.env, process.argv.slice(2), {
  name: 'api',
  shape: apiShape,
  readConfig: readApiConfig,
  createHttpServer,
  createService: (parts) => createService({ ...parts, clock: systemClock }),
})
