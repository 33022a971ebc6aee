import { answerArguments } from '#shared/process/arguments.ts'
import { systemClock } from '#shared/process/clock.ts'
import { createLog } from '#shared/process/log.ts'
import { createMetrics, serveMetrics } from '#shared/process/metrics.ts'
import { exitUnstarted, runServiceProcess } from '#shared/process/service-process.ts'
import { nameUnknownSettings } from '#shared/process/setting-names.ts'
import { apiShape, readApiConfig } from './config.ts'
import { createHttpServer } from './http/server.ts'
import { createService } from './service.ts'

try {
  const { env, argv } = process
  const answered = answerArguments(argv.slice(2), { env, shape: apiShape, read: readApiConfig })
  if (answered) {
    process.stdout.write(`${answered.text}\n`)
    process.exit(answered.exitCode)
  }
  const config = readApiConfig(env)
  const log = createLog({ service: 'api', level: config.LOG_LEVEL })
  nameUnknownSettings(env, log)
  const { METRICS_HOST: metricsHost, METRICS_PORT: metricsPort, PROCESSES: processes } = config
  const metrics = createMetrics({ service: 'api', ofProcess: metricsPort !== undefined })
  if (metricsPort !== undefined)
    await serveMetrics(metrics, { host: metricsHost, port: metricsPort, processes })
  await runServiceProcess({
    host: config.HOST,
    port: config.PORT,
    processes,
    drainDelay_ms: config.DRAIN_DELAY_S * 1_000,
    log,
    createHttpServer,
    createService: () => createService({ config, clock: systemClock, log, metrics }),
  })
} catch (error) {
  exitUnstarted(error)
}
