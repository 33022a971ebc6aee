import { z } from 'zod'
import { ADDRESSES_PER_DAY_MAX } from '#shared/rules/clients.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { clientStatus, requireClient } from '../clients/client.ts'
import { type ClientRecord, findClient } from '../clients/records.ts'
import { instant } from '../http/instant.ts'
import { route } from '../http/route.ts'
import { canView } from '../people/access.ts'
import { unavailable } from '../problems/problems.ts'
import { readUsesMissingBefore } from '../usage/missing-uses.ts'
import { type ClientUses, readUses } from '../usage/read.ts'
import { readLatestRefusals } from '../usage/refusals.ts'
import type { UsageStores } from '../usage/windows.ts'

const addressesUsed = z
  .array(z.object({ address: z.string(), lastUsedAt: instant }).meta({ id: 'AddressUsed' }))
  .meta({
    description:
      'Addresses that got a token in the last 100 days, the latest 200; of IPv6, the /64 networks. ' +
      `Of each day, the first ${ADDRESSES_PER_DAY_MAX} are counted.`,
  })

const seen = {
  clientId: z.string(),
  status: clientStatus,
  lastUsedAt: instant.nullable(),
  addresses: addressesUsed,
}

const ClientRotation = z
  .object({
    old: z.object({
      ...seen,
      longestQuietHours: z.number().nullable().meta({
        description: 'The longest time between two tokens since `seenSince`; null if it got fewer than two.',
      }),
    }),
    replacement: z
      .object({ ...seen, firstUsedAt: instant.nullable() })
      .meta({ id: 'RotationReplacement' })
      .nullable(),
    refusedSinceRevoke: z
      .object({ count: z.int().min(0), lastAt: instant.nullable(), addresses: z.array(z.string()) })
      .meta({
        description:
          'Requests with its secret or its tokens, refused because it is revoked: of the last 24 hours, at most 200.',
      }),
    seenSince: instant,
    usesMissingSince: instant.nullable().meta({
      description:
        'Uses of the old client after this time, its last known use or its creation, may be missing; null if all were counted.',
    }),
  })
  .meta({ id: 'ClientRotation' })

export const readRotationRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/oauth-clients/:clientId/rotation',
  operationId: 'readRotation',
  tag: 'Clients',
  summary: 'Read what was seen of a client and its replacement',
  description:
    'When each was last used and from where, and the requests refused since the client was revoked.',
  access: canView,
  answers: { 200: { description: 'What was seen of both.', schema: ClientRotation } },
  problems: ['not_found'],
  async handle({ vendorId, params }, stores: UsageStores) {
    const old = await requireClient(stores.db, vendorId, params.clientId)
    return readRotation(stores, { vendorId, old })
  },
})

type Answer = z.infer<typeof ClientRotation>

const HOUR_S = 3_600

/** @throws if Postgres or Redis does not answer. */
async function readRotation(
  stores: UsageStores,
  { vendorId, old }: { vendorId: string; old: ClientRecord },
): Promise<Answer> {
  const { db } = stores
  const uses = await readUses(db, old.clientId)
  const replacement = old.replacedBy === null ? null : await readReplacement(stores, vendorId, old.replacedBy)
  const quiet_h = uses.longestQuiet_s === null ? null : uses.longestQuiet_s / HOUR_S
  return {
    old: { ...seenAnswer(old, uses), longestQuietHours: quiet_h && Math.round(quiet_h * 100) / 100 },
    replacement,
    refusedSinceRevoke: await readRefusedSinceRevoke(stores, vendorId, old),
    seenSince: old.createdAt.toISOString(),
    usesMissingSince: timeAnswer(await readUsesMissingSince(db, old, uses)),
  }
}

const timeAnswer = (at: Date | null): string | null => at?.toISOString() ?? null

const seenAnswer = ({ clientId, status }: ClientRecord, { lastUsedAt, addresses }: ClientUses) => ({
  clientId,
  status,
  lastUsedAt: timeAnswer(lastUsedAt),
  addresses: addresses.map((used) => ({ ...used, lastUsedAt: used.lastUsedAt.toISOString() })),
})

async function readReplacement(
  { db }: UsageStores,
  vendorId: string,
  clientId: string,
): Promise<Answer['replacement']> {
  const client = await findClient(db, { vendorId, clientId })
  if (!client) return null
  const uses = await readUses(db, clientId)
  return { ...seenAnswer(client, uses), firstUsedAt: timeAnswer(uses.firstUsedAt) }
}

/** When a loss began is unknown, but every use up to the last recorded one was counted. */
async function readUsesMissingSince(
  db: Queryable,
  { createdAt }: ClientRecord,
  { lastUsedAt }: ClientUses,
): Promise<Date | null> {
  const lastRecordedAt = lastUsedAt ?? createdAt
  const missingBefore = await readUsesMissingBefore(db)
  return missingBefore && missingBefore > lastRecordedAt ? lastRecordedAt : null
}

/**
 * Returns the requests with a client's secret or its tokens that were refused because it is revoked.
 * @throws Problem unavailable if Redis does not answer.
 */
async function readRefusedSinceRevoke(
  { redis, clock }: UsageStores,
  vendorId: string,
  { clientId, revokedAt }: ClientRecord,
): Promise<Answer['refusedSinceRevoke']> {
  if (revokedAt === null) return { count: 0, lastAt: null, addresses: [] }
  const refusals = await readLatestRefusals(redis, { vendorId, clientId, now_ms: clock.now() }).catch(
    (error) => {
      throw unavailable('Refused requests cannot be read right now.', error)
    },
  )
  // Single tokens may have been revoked before the client was.
  const sinceRevoke = refusals.filter(
    ({ reason, at_ms }) =>
      reason === 'revoked_client' || (reason === 'revoked' && at_ms >= revokedAt.getTime()),
  )
  const [latest] = sinceRevoke
  return {
    count: sinceRevoke.length,
    lastAt: latest ? new Date(latest.at_ms).toISOString() : null,
    addresses: [...new Set(sinceRevoke.flatMap(({ address }) => address ?? []))],
  }
}
