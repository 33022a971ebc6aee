import { systemClock } from '#shared/process/clock.ts'
import { createLog } from '#shared/process/log.ts'
import { exitUnstarted, runServiceProcess } from '#shared/process/service-process.ts'
import { readApiConfig } from './config.ts'
import { createHttpServer } from './http/server.ts'
import { createService } from './service.ts'

const config = (() => {
  try {
    return readApiConfig(process.env)
  } catch (error) {
    return exitUnstarted(error)
  }
})()
const log = createLog({ service: 'api', level: config.LOG_LEVEL })

runServiceProcess({
  host: config.HOST,
  port: config.PORT,
  processes: config.PROCESSES,
  log,
  createHttpServer,
  createService: () => createService({ config, clock: systemClock, log }),
}).catch(exitUnstarted)
