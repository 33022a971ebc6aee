import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { openDataDir, writePrivateFile } from '../../infra/local/data-dir.ts'
import { Lifecycle } from '../../infra/local/lifecycle.ts'
import { localSecrets } from '../../infra/local/secrets.ts'
import { localSettings } from '../../infra/local/settings.ts'
import { startLocalStack } from '../../infra/local/start.ts'
import { collectText } from './collect-text.ts'
import { stackPorts } from './ports.ts'
import { createTestDatabase, PASSWORDS as ROLE_PASSWORDS } from './servers.ts'

export type TestStack = Awaited<ReturnType<typeof startTestStack>>

const PASSWORD = 'a password of the tests'

/**
 * The whole local stack, as `npm start` brings it up, on free ports and with data of its own: in a migrated
 * database of the tests' Postgres, unless one is given. `env` is as for `npm start`.
 */
export async function startTestStack({ env = {} }: { env?: Record<string, string> } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-stack-'))
  await keepServicePasswords(folder)
  const database = env.DATABASE_URL ? undefined : await createTestDatabase()
  const settings = localSettings({
    ...process.env,
    DATA_DIR: folder,
    ...(await stackPorts()),
    DEMO_PASSWORD: PASSWORD,
    ...(database && { DATABASE_URL: database.ownerUrl }),
    ...env,
  })
  const output = new PassThrough()
  const serviceOutput = collectText(output)
  const lifecycle = new Lifecycle()
  const remove = async () => {
    await lifecycle.stop()
    await database?.drop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const stack = await startLocalStack(lifecycle, { settings, show: () => {}, output })
    return {
      ...stack,
      demoPassword: PASSWORD,
      dataDir: folder,
      /** Everything that the services have printed. */
      serviceOutput,
      /** Ends every process of it and removes its data. */
      remove,
      [Symbol.asyncDispose]: remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** The stack sets the passwords of the services' roles, which all databases of the tests' Postgres share. */
async function keepServicePasswords(folder: string): Promise<void> {
  const dataDir = await openDataDir(folder)
  const secrets = await localSecrets(dataDir)
  const postgres = { ...secrets.postgres, ...ROLE_PASSWORDS }
  await writePrivateFile(dataDir.at('secrets.json'), JSON.stringify({ ...secrets, postgres }))
  dataDir.release()
}
