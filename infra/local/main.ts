import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { ConfigError, EXIT_CONFIG } from '#shared/process/config.ts'
import { EXIT_USAGE } from '../exit-codes.ts'
import { heartbeat, type ShowProgress } from '../progress.ts'
import { card } from './card.ts'
import { Lifecycle } from './lifecycle.ts'
import { localSettings } from './settings.ts'
import type { LocalStackOptions } from './stack.ts'
import { startLocalStack } from './start.ts'
import { describeFailure } from './start-error.ts'

/**
 * npm forwards a Ctrl-C a moment after the terminal has sent it here, so each one arrives twice. (If you
 * signal npm alone, send a third to force an end.)
 */
const SIGNALS_PER_STOP = ['start', 'dev'].includes(process.env.npm_lifecycle_event ?? '') ? 2 : 1
const EXIT_FORCED = 130

const show: ShowProgress = (line) => {
  process.stdout.write(`${process.uptime().toFixed(1).padStart(6)} s  ${line}\n`)
}
const printError = (text: string): void => {
  process.stderr.write(`\n${text}\n`)
}

async function main(): Promise<number> {
  const options = readOptionsOrExit()
  const lifecycle = new Lifecycle()
  const interruption = new AbortController()
  const aborted = once(interruption.signal, 'abort').then(() => undefined)
  onStopSignal({
    first: () => {
      show('Stopping')
      interruption.abort()
    },
    second: () => {
      printError('Force-stopping.')
      void lifecycle.kill().then(() => process.exit(EXIT_FORCED))
    },
  })
  try {
    const { signal } = interruption
    const stack = await startLocalStack(lifecycle, { ...options, show, output: process.stderr, signal })
    process.stdout.write(`\nready ${stack.baseUrl}\n${card(stack)}`)
    await stack.forgetPassword()
    const failure = await Promise.race([stack.failed, aborted])
    if (failure === undefined) return 0
    printError(`${failure}\nStopping the rest.`)
    return 1
  } catch (error) {
    if (interruption.signal.aborted) return 0
    printError(describeFailure(error, options.settings.dataDir))
    return error instanceof ConfigError ? EXIT_CONFIG : 1
  } finally {
    await heartbeat(show, () => 'Stopping', lifecycle.stop())
    if (interruption.signal.aborted) show('Stopped')
  }
}

function readOptionsOrExit(): Pick<LocalStackOptions, 'settings' | 'watch'> {
  try {
    if (process.env.NODE_ENV === 'production')
      throw new ConfigError(
        'NODE_ENV is production, but npm start runs a demo with demo users. ' +
          'infra/runbook/install.md says how to install the services.',
      )
    const { values } = parseArgs({ options: { watch: { type: 'boolean', default: false } } })
    return { settings: localSettings(process.env), ...values }
  } catch (error) {
    printError((error as Error).message)
    process.exit(error instanceof TypeError ? EXIT_USAGE : EXIT_CONFIG)
  }
}

function onStopSignal({ first, second }: { first: () => void; second: () => void }): void {
  let received = 0
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      received += 1
      if (received === 1) first()
      else if (received === SIGNALS_PER_STOP + 1) second()
    })
  }
}

// With NODE_USE_ENV_PROXY, a proxy would be asked for what this starts on loopback. The services get it too.
const { no_proxy, NO_PROXY = '' } = process.env
process.env.no_proxy = `127.0.0.1,localhost,${no_proxy ?? NO_PROXY}`

// Node runs what is in the caches that this fills: no one else may write there.
process.umask(process.umask() | 0o022)

// The terminal (SIGHUP) or the reader of a pipe may be gone; still leave no processes behind.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})
process.exit(await main())
