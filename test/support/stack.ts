import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { Parts } from '../../infra/local/parts.ts'
import { localSettings } from '../../infra/local/settings.ts'
import { type LocalStack, startLocalStack } from '../../infra/local/stack.ts'
import { freePorts } from './ports.ts'

export interface TestStack extends LocalStack {
  demoPassword: string
  dataDir: string
  /** Everything that the services have printed. */
  serviceOutput(): string
  /** Ends every process of it; its data stay until `remove`. */
  stop(): Promise<void>
  /** Stops it and removes its data. */
  remove(): Promise<void>
}

export interface TestStackOptions {
  /** As for `npm start`: PROCESSES, RATE_…, LOG_LEVEL and so on. */
  env?: Record<string, string>
  /** The data folder of a stack that was stopped. */
  dataDir?: string
}

const PASSWORD = 'a password of the tests'

/** The whole local stack, as `npm start` brings it up, on free ports and with data of its own. */
export async function startTestStack({ env = {}, dataDir }: TestStackOptions = {}): Promise<TestStack> {
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), 'integration-access-stack-')))
  const [port, authPort, apiPort, authMetricsPort, apiMetricsPort] = await freePorts(5)
  const settings = localSettings({
    ...process.env,
    DATA_DIR: folder,
    PORT: String(port),
    AUTH_PORT: String(authPort),
    API_PORT: String(apiPort),
    AUTH_METRICS_PORT: String(authMetricsPort),
    API_METRICS_PORT: String(apiMetricsPort),
    DEMO_PASSWORD: PASSWORD,
    ...env,
  })
  let printed = ''
  const output = new Writable({
    write(chunk, _encoding, done) {
      printed += chunk
      done()
    },
  })
  const parts = new Parts()
  const remove = async () => {
    await parts.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const stack = await startLocalStack(parts, { settings, say: () => {}, output })
    return {
      ...stack,
      demoPassword: PASSWORD,
      dataDir: folder,
      serviceOutput: () => printed,
      stop: () => parts.stop(),
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}
