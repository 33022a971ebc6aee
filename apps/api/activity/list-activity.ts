import { z } from 'zod'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { ACTIVITY_ACTIONS, type ActivityRecord, listActivity } from '../accounts/activity.ts'
import { actor, actorAnswer } from '../accounts/actor.ts'
import { instant } from '../http/instant.ts'
import { cursorTime, encodeCursor, nextCursor, pageParameters } from '../http/page.ts'
import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'

const time = (description: string) =>
  z.iso
    .datetime({ offset: true, error: 'must be an RFC 3339 time' })
    .transform((text, context) => {
      const at = new Date(text)
      // Postgres stores times up to the year 294276, and has no year 0.
      if (at.getUTCFullYear() >= 1) return at
      context.addIssue({ code: 'custom', message: 'must be an RFC 3339 time' })
      return z.NEVER
    })
    .optional()
    .meta({ type: 'string', format: 'date-time', description })

const action = z
  .enum(ACTIVITY_ACTIONS, `must be one of ${ACTIVITY_ACTIONS.join(', ')}`)
  .meta({ id: 'ActivityAction' })

const ActivityQuery = z.strictObject({
  ...pageParameters(z.tuple([cursorTime, z.int().positive()])),
  userId: z
    .string()
    .max(64, 'must be the id of a person, or operator')
    .regex(/^(usr_[A-Za-z0-9]+|operator)$/, 'must be the id of a person, or operator')
    .optional()
    .meta({ description: 'Only what this person did; `operator`: what operators and the service did.' }),
  action: action.optional().meta({ description: 'Only entries with this action.' }),
  clientId: z
    .string()
    .regex(CLIENT_ID_PATTERN, 'must be the id of a client')
    .optional()
    .meta({ description: 'Only entries about this client.' }),
  from: time('Only entries at or after this time.'),
  to: time('Only entries before this time.'),
})

const ActivityEntry = z
  .object({
    entryId: z.string(),
    at: instant,
    by: actor,
    action,
    subject: z.string().meta({
      description: 'The id of the client, person or company, the host of the callback, or an issuer.',
    }),
    detail: z
      .record(z.string(), z.unknown())
      .meta({ description: 'Details of the change, with `before` and `after` values where they apply.' }),
  })
  .meta({ id: 'ActivityEntry' })

const ActivityPage = z.object({ entries: z.array(ActivityEntry), nextCursor }).meta({ id: 'ActivityPage' })

export const listActivityRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/activity',
  operationId: 'listActivity',
  tag: 'Activity',
  summary: 'List the activity of a company',
  description:
    'Newest first. Entries are never removed, and only an erasure changes them. With two filters or more, a page may have fewer entries than `limit`, or none, although there are more: go on while there is a `nextCursor`.',
  access: canRead,
  query: ActivityQuery,
  answers: { 200: { description: 'A page of entries.', schema: ActivityPage } },
  async handle(
    { vendorId, query: { limit, cursor, userId, clientId, ...filter } },
    { db }: { db: Database },
  ) {
    const { records, next } = await listActivity(db, {
      vendorId,
      after: cursor,
      limit,
      userId: userId === 'operator' ? null : userId,
      subject: clientId,
      ...filter,
    })
    return { entries: records.map(entryAnswer), nextCursor: next && encodeCursor(next) }
  },
})

/** What the service does on its own: two actions that are its alone, and others with a reason. */
const isByService = ({ action, userId, detail }: ActivityRecord): boolean =>
  action === 'client.secret_found' ||
  action === 'address.claimed' ||
  (userId === null && typeof detail.reason === 'string')

const entryAnswer = (record: ActivityRecord) => ({
  entryId: String(record.entryId),
  at: record.at,
  by: isByService(record) ? { userId: null, name: 'service' } : actorAnswer(record.userId, record.userName),
  action: record.action,
  subject: record.subject,
  detail: record.detail,
})
