import { z } from 'zod'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { CLIENT_NAME_MAX_CHARACTERS } from '#shared/rules/clients.ts'
import { actor, actorAnswer } from '../accounts/actor.ts'
import { oneLine } from '../http/input.ts'
import { instant } from '../http/instant.ts'
import { Problem } from '../problems/problems.ts'
import { ClientFailing, type Failing, readFailing } from '../usage/failing.ts'
import { usesMissingBefore } from '../usage/missing-uses.ts'
import { lastDayOf, readUsageSummaries, type UsageSummary } from '../usage/read.ts'
import { DAYS_SHOWN, type UsageStores } from '../usage/windows.ts'
import type { ClientRecord } from './records.ts'

export const clientScope = z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`).meta({ id: 'Scope' })

export const clientName = oneLine(1, CLIENT_NAME_MAX_CHARACTERS).meta({
  minLength: 1,
  maxLength: CLIENT_NAME_MAX_CHARACTERS,
})

export const clientStatus = z.enum(['Active', 'Revoked'])

/** What every answer has of a client. */
export const clientMembers = {
  clientId: z.string(),
  name: z.string(),
  scopes: z.array(clientScope),
  secretHint: z.string().nullable().meta({
    description: "The secret's last four characters; null for clients that have none.",
  }),
  authMethod: z
    .enum(['client_secret', 'private_key_jwt', 'workload_identity'])
    .meta({ description: 'How it authenticates. This never changes.' }),
  keyThumbprint: z.string().nullable().meta({
    description: 'The RFC 7638 thumbprint of its key, by SHA-256; null for clients that have none.',
  }),
  workload: z
    .object({ issuer: z.string(), claims: z.record(z.string(), z.string()) })
    .meta({ id: 'Workload', description: 'Whose tokens it sends, and the claims that name it in them.' })
    .nullable(),
  expiresAt: instant
    .nullable()
    .meta({ description: 'From then on it gets no tokens. This never changes; null if it does not expire.' }),
  status: clientStatus,
  secretFoundAt: instant.nullable().meta({ description: 'When someone reported its secret.' }),
  secretFoundSource: z.string().nullable().meta({ description: 'Where they found it. Unverified text.' }),
  replaces: z.string().nullable().meta({ description: 'The client that it replaces.' }),
  replacedBy: z.string().nullable().meta({ description: 'The client that replaces it.' }),
  createdAt: instant,
  createdBy: actor,
  revokedAt: instant.nullable(),
  revokedBy: actor.nullable(),
  lastUsedAt: instant.nullable().meta({ description: 'When it last got a token; null if never.' }),
  usesMissingBefore: instant
    .nullable()
    .meta({ description: 'Uses after `lastUsedAt` and before this may have been lost; null if none was.' }),
  tokensIssued24h: z.int().meta({ description: 'Tokens of the last 24 hours, counted in whole hours.' }),
  tokensByDay: z.array(z.int().min(0)).meta({
    description: 'Tokens of each 24 hours of the last 14 days, oldest first; the last is tokensIssued24h.',
  }),
  failing: ClientFailing.nullable(),
  failingKnown: z
    .boolean()
    .meta({ description: 'false while refusals cannot be read. `failing` is null then.' }),
}

export const OAuthClient = z.object(clientMembers).meta({ id: 'OAuthClient' })

/**
 * A client as the API returns it.
 * @param used undefined if it was never used.
 * @param failing null if it is not; undefined if that cannot be read.
 * @param missing the latest time before which a use may have been lost.
 */
export function clientAnswer(
  record: ClientRecord,
  used: UsageSummary | undefined,
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
    createdBy: actorAnswer(record.createdBy, record.createdByName),
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

/** Returns who revoked a client. The service says why. */
export function revokerOf(client: ClientRecord): z.infer<typeof actor> {
  const { revokedBy, revokedByName, revokedBecause } = client
  if (revokedBecause === 'secret_found')
    return { userId: null, name: 'the service, because its secret was found' }
  return actorAnswer(revokedBy, revokedByName)
}

/** Some clients of a company with their usage. */
export async function clientAnswers(
  stores: UsageStores,
  vendorId: string,
  records: readonly ClientRecord[],
): Promise<z.infer<typeof OAuthClient>[]> {
  const used = await readUsageSummaries(
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
