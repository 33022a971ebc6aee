import { answerArguments } from '#shared/process/arguments.ts'
import { systemClock } from '#shared/process/clock.ts'
import { createLog } from '#shared/process/log.ts'
import { createMetrics, serveMetrics } from '#shared/process/metrics.ts'
import { exitUnstarted, runServiceProcess } from '#shared/process/service-process.ts'
import { nameUnknownSettings } from '#shared/process/setting-names.ts'
import { authShape, readAuthConfig } from './config.ts'
import { createHttpServer } from './http-server.ts'
import { createAuthService } from './service.ts'

try {
  const { env, argv } = process
  const answered = answerArguments(argv.slice(2), { env, shape: authShape, read: readAuthConfig })
  if (answered) {
    process.stdout.write(`${answered.text}\n`)
    process.exit(answered.exitCode)
  }
  const config = readAuthConfig(env)
  const log = createLog({ service: 'auth', level: config.LOG_LEVEL })
  nameUnknownSettings(env, log)
  const { METRICS_HOST: metricsHost, METRICS_PORT: metricsPort, PROCESSES: processes } = config
  const metrics = createMetrics({ service: 'auth', ofProcess: metricsPort !== undefined })
  if (metricsPort !== undefined)
    await serveMetrics(metrics, { host: metricsHost, port: metricsPort, processes })
  await runServiceProcess({
    host: config.HOST,
    port: config.PORT,
    processes,
    drainDelay_ms: config.DRAIN_DELAY_S * 1_000,
    log,
    createHttpServer,
    createService: () => createAuthService({ config, clock: systemClock, log, metrics }),
  })
} catch (error) {
  exitUnstarted(error)
}
