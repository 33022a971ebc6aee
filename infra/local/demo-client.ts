import { createClient } from '#shared/oauth/client-changes.ts'
import { readClientCredentials } from '#shared/oauth/client-credentials.ts'
import { hashSecret } from '#shared/oauth/ids.ts'
import { secretHint } from '#shared/oauth/new-ids.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type DataDir, writePrivateFile } from './data-dir.ts'
import { type LocalSecrets, replaceDemoClient } from './secrets.ts'
import { ACME } from './seed/companies.ts'

const NAME = 'Demo client of the local stack'
const SECRET_FILE = 'demo-client-secret'

export interface DemoClient {
  vendorId: string
  clientId: string
  clientSecret: string
  /** Contains only the secret, and only its owner can read it. */
  secretFile: string
}

/** Makes sure that there is a demo client, which may read Acme's analytics. A revoked one is replaced by a new one. */
export async function demoClient(parts: {
  db: Database
  dataDir: DataDir
  secrets: LocalSecrets
}): Promise<DemoClient> {
  const { db, dataDir, secrets } = parts
  const [stored] = await readClientCredentials(db, [secrets.demoClient.clientId])
  const isRevoked = stored?.status === 'Revoked'
  const { demoClient: client } = isRevoked ? await replaceDemoClient(dataDir, secrets) : secrets
  if (!stored || isRevoked) {
    await db.transaction((transaction) =>
      createClient(transaction, {
        clientId: client.clientId,
        vendorId: ACME,
        name: NAME,
        scopes: ['analytics:read'],
        authenticatesBy: {
          secretHash: hashSecret(client.clientSecret),
          secretHint: secretHint(client.clientSecret),
        },
        createdBy: { name: 'npm start' },
        createdAt: new Date(),
      }),
    )
  }
  const secretFile = dataDir.at(SECRET_FILE)
  await writePrivateFile(secretFile, client.clientSecret)
  return { vendorId: ACME, ...client, secretFile }
}
