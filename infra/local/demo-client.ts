import { readClientCredentials } from '#shared/oauth/client-credentials.ts'
import { hashSecret } from '#shared/oauth/ids.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { secretHint } from '../../apps/api/accounts/new-ids.ts'
import { findCompany } from '../../apps/api/accounts/people.ts'
import { insertClientWithActivity } from '../../apps/api/clients/create-client.ts'
import { type DataDir, writePrivateFile } from './data-dir.ts'
import { type LocalSecrets, replaceDemoClient } from './secrets.ts'
import { ACME } from './seed/companies.ts'

export interface DemoClient {
  clientId: string
  clientSecret: string
  /** What the examples of /docs read. Only its owner can read it. */
  envFile: string
}

/** Returns a demo client, which may read Acme's analytics: undefined once Acme is erased. */
export async function ensureDemoClient(options: {
  db: Database
  dataDir: DataDir
  secrets: LocalSecrets
  baseUrl: string
}): Promise<DemoClient | undefined> {
  const { db, dataDir, secrets, baseUrl } = options
  if ((await findCompany(db, ACME)) === undefined) return
  const [stored] = await readClientCredentials(db, [secrets.demoClient.clientId])
  const isRevoked = stored?.status === 'Revoked'
  const { demoClient: client } = isRevoked ? await replaceDemoClient(dataDir, secrets) : secrets
  if (!stored || isRevoked) {
    await db.transaction((transaction) =>
      insertClientWithActivity(transaction, {
        clientId: client.clientId,
        vendorId: ACME,
        name: 'Demo client of the local stack',
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
  const envFile = dataDir.at('demo-client.env')
  const env = `INTEGRATION_BASE_URL=${baseUrl}
INTEGRATION_VENDOR_ID=${ACME}
INTEGRATION_CLIENT_ID=${client.clientId}
INTEGRATION_CLIENT_SECRET=${client.clientSecret}
INTEGRATION_SCOPE=analytics:read
`
  await writePrivateFile(envFile, env)
  return { ...client, envFile }
}
