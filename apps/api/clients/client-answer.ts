import type { z } from 'zod'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import { actorOf, revokerOf } from '../http/schemas.ts'
import { Problem } from '../problems/problems.ts'
import { type Failing, readFailing } from '../usage/failing.ts'
import { usesMissingBefore } from '../usage/missing-uses.ts'
import { type ClientUsage, lastDayOf, readUsage } from '../usage/usage.ts'
import { DAYS_SHOWN, type UsageStores } from '../usage/windows.ts'
import type { ClientRecord } from './records.ts'
import type { OAuthClient } from './schemas.ts'

/**
 * A client as the API returns it.
 * @param used undefined if it was never used.
 * @param failing null if it is not; undefined if that cannot be read.
 * @param missing the latest time before which a use may have been lost.
 */
export function clientAnswer(
  record: ClientRecord,
  used: ClientUsage | undefined,
  failing: Failing | null | undefined,
  missing?: Date,
): z.infer<typeof OAuthClient> {
  const { createdAt, revokedAt } = record
  const lastUsedAt = used?.lastUsedAt ?? null
  const tokensByDay = used?.tokensByDay ?? Array<number>(DAYS_SHOWN).fill(0)
  return {
    clientId: record.clientId,
    name: record.name,
    scopes: record.scopes,
    secretHint: record.secretHint,
    authMethod: authMethodOf(record),
    keyThumbprint: record.keyThumbprint,
    workload: record.workload,
    expiresAt: record.expiresAt?.toISOString() ?? null,
    status: record.status,
    secretFoundAt: record.secretFoundAt?.toISOString() ?? null,
    secretFoundSource: record.secretFoundSource,
    replaces: record.replaces,
    replacedBy: record.replacedBy,
    createdAt: createdAt.toISOString(),
    createdBy: actorOf(record.createdBy, record.createdByName),
    revokedAt: revokedAt?.toISOString() ?? null,
    revokedBy: revokedAt && revokerOf(record),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    usesMissingBefore: missing && missing > (lastUsedAt ?? createdAt) ? missing.toISOString() : null,
    tokensIssued24h: lastDayOf({ tokensByDay }),
    tokensByDay,
    failing: failing ?? null,
    failingKnown: failing !== undefined,
  }
}

function authMethodOf({ keyThumbprint, workload }: ClientRecord): z.infer<typeof OAuthClient>['authMethod'] {
  if (workload) return 'workload_identity'
  return keyThumbprint === null ? 'client_secret' : 'private_key_jwt'
}

/** Some clients of a company with their usage. */
export async function clientAnswers(
  stores: UsageStores,
  vendorId: string,
  records: readonly ClientRecord[],
): Promise<z.infer<typeof OAuthClient>[]> {
  const used = await readUsage(
    stores,
    records.map(({ clientId }) => clientId),
  )
  const failing = await readFailing(stores, vendorId, records, used)
  const missing = await usesMissingBefore(stores.db)
  return records.map((record) => {
    const failure = failing && (failing.get(record.clientId) ?? null)
    return clientAnswer(record, used.get(record.clientId), failure, missing)
  })
}

export async function oneClientAnswer(stores: UsageStores, vendorId: string, record: ClientRecord) {
  const [answer] = await clientAnswers(stores, vendorId, [record])
  return answer as z.infer<typeof OAuthClient>
}

export const noSuchClient = (): Problem => new Problem('not_found', 'The company has no such client.')

/** @throws Problem not_found if it cannot be a client id. */
export function knownClientId(clientId: string): string {
  if (!CLIENT_ID_PATTERN.test(clientId)) throw noSuchClient()
  return clientId
}
