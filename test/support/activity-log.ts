import { generateKeyPairSync } from 'node:crypto'
import { appendActivity } from '#shared/accounts/activity.ts'
import { createPostgres, type Database, type Queryable } from '#shared/stores/postgres.ts'
import { extendLog } from '../../apps/api/activity/chain.ts'
import { createLogSigner, type LogSigner } from '../../apps/api/activity/log-key.ts'
import { testOperator } from './operator.ts'

/** A value of LOG_SIGNING_KEY. */
export const newLogKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')

export const testSigner = (issuer = 'https://api.test'): LogSigner =>
  createLogSigner([generateKeyPairSync('ed25519').privateKey], { issuer })

/** Appends entries of a company, every third by an operator. */
export async function appendEntries(db: Queryable, count: number, vendorId = 'ven_acme'): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const act = { vendorId, action: 'client.renamed', subject: `cli_${index}` } as const
    const detail = { before: { name: `Old ${index}` }, after: { name: `Neue Läden ${index}` } }
    await appendActivity(
      db,
      index % 3 === 0 ? { ...act, detail, operator: testOperator() } : { ...act, detail, userId: null },
    )
  }
}

/** Gives every committed entry its place, as a process of the API does, with that role's rights. */
export async function extendAll(apiUrl: string, signer?: LogSigner): Promise<void> {
  const db: Database = createPostgres({ url: apiUrl, poolSize: 1, applicationName: 'test' })
  try {
    while ((await extendLog(db, signer)) === 'more');
  } finally {
    await db.destroy()
  }
}
