import { z } from 'zod'
import { type ActivityRecord, listActivity } from '#shared/activity.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { documented } from '../http/documented.ts'
import { query } from '../http/input.ts'
import { nextCursor, page, pageParameters } from '../http/page.ts'
import { createRouter } from '../http/routes.ts'
import { actor, actorOf, instant } from '../http/schemas.ts'
import type { ApiMiddleware, ApiRouter } from '../http/state.ts'

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

const ActivityPage = z.object({ entries: z.array(ActivityEntry), nextCursor })

export function createActivityRoutes({ db, manager }: { db: Database; manager: ApiMiddleware }): ApiRouter {
  const list: ApiMiddleware = async (ctx) => {
    const { limit, cursor } = ctx.state.query as z.infer<typeof ActivityQuery>
    const vendorId = ctx.state.vendorId as string
    const records = await listActivity(db, { vendorId, before: cursor?.[0], limit: limit + 1 })
    const { rows, nextCursor } = page(records, limit, ({ entryId }) => [entryId])
    ctx.body = { entries: rows.map(shown), nextCursor }
  }

  return createRouter().get(
    '/v1/vendor/:vendorId/activity',
    manager,
    query(ActivityQuery),
    documented(list, {
      tag: 'Activity',
      summary: 'Who did what, and when',
      description: 'Newest first. Entries are never changed or removed.',
      answers: { 200: { description: 'A page of entries.', schema: ActivityPage } },
    }),
  )
}

const shown = ({ entryId, at, action, subject, detail, userId, userName }: ActivityRecord) => ({
  entryId: String(entryId),
  at: at.toISOString(),
  by: actorOf(userId, userName),
  action,
  subject,
  detail,
})
