import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { newClientId, newClientSecret } from '../../apps/api/accounts/new-ids.ts'
import { type DataDir, writePrivateFile } from './data-dir.ts'
import { errorCode, StartError } from './start-error.ts'

const FILE = 'secrets.json'

const secretsSchema = z.object({
  postgres: z.object({
    postgres: z.string(),
    integration_auth: z.string(),
    integration_api: z.string(),
    integration_operator: z.string(),
  }),
  redis: z.object({ admin: z.string(), auth: z.string(), api: z.string() }),
  /** 32 bytes in base64, which encrypt the private signing keys in the database. */
  keyEncryptionKey: z.string(),
  demoClient: z.object({ clientId: z.string(), clientSecret: z.string() }),
})

/** Generated at the first start and kept in the data folder, readable only by its owner. */
export type LocalSecrets = z.infer<typeof secretsSchema>

/** @throws StartError if their file has become unreadable. */
export async function localSecrets(dataDir: DataDir): Promise<LocalSecrets> {
  const file = dataDir.at(FILE)
  try {
    return secretsSchema.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return saveSecrets(dataDir, newSecrets())
    throw new StartError(
      `${file} cannot be read, and the data beside it is useless without it: ` +
        'restore it, or set DATA_DIR to a new folder.',
    )
  }
}

export async function replaceDemoClient(dataDir: DataDir, secrets: LocalSecrets): Promise<LocalSecrets> {
  return saveSecrets(dataDir, { ...secrets, demoClient: newDemoClient() })
}

async function saveSecrets(dataDir: DataDir, secrets: LocalSecrets): Promise<LocalSecrets> {
  await writePrivateFile(dataDir.at(FILE), `${JSON.stringify(secrets, null, 2)}\n`)
  return secrets
}

const newPassword = (): string => randomBytes(24).toString('base64url')
const newDemoClient = () => ({ clientId: newClientId(), clientSecret: newClientSecret() })

const newSecrets = (): LocalSecrets => ({
  postgres: {
    postgres: newPassword(),
    integration_auth: newPassword(),
    integration_api: newPassword(),
    integration_operator: newPassword(),
  },
  redis: { admin: newPassword(), auth: newPassword(), api: newPassword() },
  keyEncryptionKey: randomBytes(32).toString('base64'),
  demoClient: newDemoClient(),
})
