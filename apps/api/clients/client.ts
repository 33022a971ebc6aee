import { z } from 'zod'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { CLIENT_NAME_MAX_CHARACTERS } from '#shared/rules/clients.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { actor, actorAnswer } from '../accounts/actor.ts'
import { oneLine } from '../http/input.ts'
import { instant } from '../http/instant.ts'
import { Problem } from '../problems/problems.ts'
import { ClientFailing, type Failing, readFailing } from '../usage/failing.ts'
import { readUsesMissingBefore } from '../usage/missing-uses.ts'
import { readUsageSummaries, type UsageSummary } from '../usage/read.ts'
import { DAYS_SHOWN, type UsageStores } from '../usage/windows.ts'
import { WORKLOAD_PLATFORMS } from '../workload/workload.ts'
import { type ClientRecord, findClient } from './records.ts'

export const clientScope = z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`).meta({ id: 'Scope' })

export const clientName = oneLine(1, CLIENT_NAME_MAX_CHARACTERS).meta({
  minLength: 1,
  maxLength: CLIENT_NAME_MAX_CHARACTERS,
})

export const clientStatus = z.enum(['Active', 'Revoked'])

/** The members of a client in every answer. */
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
    .object({
      issuer: z.string(),
      platform: z.enum(WORKLOAD_PLATFORMS).nullable(),
      claims: z.record(z.string(), z.string()),
    })
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
  failingKnown: z.boolean().meta({
    description:
      'false while refusals cannot be read. `failing` is null then. If they were lost, it is null until the next one.',
  }),
}

export const OAuthClient = z.object(clientMembers).meta({ id: 'OAuthClient' })

/**
 * Returns a client as the API answers it.
 * @param usage undefined if it was never used.
 * @param failing null if it is not failing; undefined if that cannot be read.
 * @param missingBefore the time before which uses may have been lost.
 */
export function clientAnswer(
  record: ClientRecord,
  usage: UsageSummary | undefined,
  failing: Failing | null | undefined,
  missingBefore?: Date,
): z.infer<typeof OAuthClient> {
  const { createdAt, revokedAt } = record
  const lastUsedAt = usage?.lastUsedAt ?? null
  const tokensByDay = usage?.tokensByDay ?? Array<number>(DAYS_SHOWN).fill(0)
  const isUsageMissing = missingBefore !== undefined && missingBefore > (lastUsedAt ?? createdAt)
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
    revokedBy: revokedAt && revokerAnswer(record),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    usesMissingBefore: isUsageMissing ? missingBefore.toISOString() : null,
    tokensIssued24h: tokensByDay.at(-1) ?? 0,
    tokensByDay,
    failing: failing ?? null,
    failingKnown: failing !== undefined,
  }
}

function authMethodOf({ keyThumbprint, workload }: ClientRecord): z.infer<typeof OAuthClient>['authMethod'] {
  if (workload) return 'workload_identity'
  return keyThumbprint === null ? 'client_secret' : 'private_key_jwt'
}

/** Returns who revoked a client, with the reason if it was the service. */
export function revokerAnswer(client: ClientRecord): z.infer<typeof actor> {
  const { revokedBy, revokedByName, revokedBecause } = client
  if (revokedBecause === 'secret_found')
    return { userId: null, name: 'service, because its secret was found' }
  return actorAnswer(revokedBy, revokedByName)
}

/** Returns clients of a company with their usage, as the API answers them. */
export async function readClientAnswers(
  stores: UsageStores,
  vendorId: string,
  records: readonly ClientRecord[],
): Promise<z.infer<typeof OAuthClient>[]> {
  const clientIds = records.map(({ clientId }) => clientId)
  const summaries = await readUsageSummaries(stores, clientIds)
  const failingClients = await readFailing(stores, vendorId, records, summaries)
  const missingBefore = await readUsesMissingBefore(stores.db)
  return records.map((record) => {
    const failing = failingClients && (failingClients.get(record.clientId) ?? null)
    return clientAnswer(record, summaries.get(record.clientId), failing, missingBefore)
  })
}

/** Returns one client of a company in the same way. */
export async function readClientAnswer(stores: UsageStores, vendorId: string, record: ClientRecord) {
  const [answer] = await readClientAnswers(stores, vendorId, [record])
  return answer as z.infer<typeof OAuthClient>
}

export const noSuchClient = (): Problem => new Problem('not_found', 'The company has no such client.')

/** Returns the id. @throws Problem not_found if it cannot be the id of a client. */
export function requireClientId(clientId: string): string {
  if (!CLIENT_ID_PATTERN.test(clientId)) throw noSuchClient()
  return clientId
}

/** @throws Problem not_found if the company has no such client. */
export async function requireClient(
  db: Queryable,
  vendorId: string,
  clientId: string,
): Promise<ClientRecord> {
  const client = await findClient(db, { vendorId, clientId: requireClientId(clientId) })
  if (!client) throw noSuchClient()
  return client
}
