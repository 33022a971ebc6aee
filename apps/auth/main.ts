import { systemClock } from '#shared/process/clock.ts'
import { createLog } from '#shared/process/log.ts'
import { exitUnstarted, runServiceProcess } from '#shared/process/service-process.ts'
import { readAuthConfig } from './config.ts'
import { createHttpServer } from './http-server.ts'
import { createAuthService } from './service.ts'

try {
  const config = readAuthConfig(process.env)
  const log = createLog({ service: 'auth', level: config.LOG_LEVEL })
  await runServiceProcess({
    host: config.HOST,
    port: config.PORT,
    processes: config.PROCESSES,
    log,
    createHttpServer,
    createService: () => createAuthService({ config, clock: systemClock, log }),
  })
} catch (error) {
  exitUnstarted(error)
}
