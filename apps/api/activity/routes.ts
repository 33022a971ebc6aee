import { z } from 'zod'
import { type ActivityRecord, listActivity } from '#shared/activity.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Manager } from '../http/manager.ts'
import { nextCursor, page, pageParameters } from '../http/page.ts'
import { type Access, type Route, route } from '../http/route.ts'
import { actor, actorOf, instant } from '../http/schemas.ts'

const ActivityQuery = z.strictObject(pageParameters(z.tuple([z.int().positive()])))

const ActivityEntry = z
  .object({
    entryId: z.string(),
    at: instant,
    by: actor,
    action: z.enum(['client.created', 'client.revoked', 'callback.saved']),
    subject: z.string().meta({ description: 'The id of the client, or the host of the callback.' }),
    detail: z.record(z.string(), z.unknown()).meta({ description: 'What else is worth telling.' }),
  })
  .meta({ id: 'ActivityEntry' })

const ActivityPage = z.object({ entries: z.array(ActivityEntry), nextCursor }).meta({ id: 'ActivityPage' })

export const createActivityRoutes = ({
  db,
  manager,
}: {
  db: Database
  manager: Access<Manager>
}): Route[] => [
  route({
    method: 'get',
    path: '/v1/vendor/:vendorId/activity',
    operationId: 'listActivity',
    tag: 'Activity',
    summary: 'Who did what, and when',
    description: 'Newest first. Entries are never changed or removed.',
    by: manager,
    query: ActivityQuery,
    answers: { 200: { description: 'A page of entries.', schema: ActivityPage } },
    async handle({ vendorId, query: { limit, cursor } }) {
      const records = await listActivity(db, { vendorId, before: cursor?.[0], limit: limit + 1 })
      const { rows, nextCursor } = page(records, limit, ({ entryId }) => [entryId])
      return { entries: rows.map(shown), nextCursor }
    },
  }),
]

const shown = ({ entryId, at, action, subject, detail, userId, userName }: ActivityRecord) => ({
  entryId: String(entryId),
  at: at.toISOString(),
  by: actorOf(userId, userName),
  action,
  subject,
  detail,
})
