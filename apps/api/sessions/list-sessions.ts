import { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { instant } from '../http/instant.ts'
import { cursorTime, nextCursor, page, pageParameters } from '../http/page.ts'
import { route } from '../http/route.ts'
import { signedIn } from './access.ts'
import { listSessions, SESSION_ID_PATTERN, type SessionListing } from './sessions.ts'

const SessionQuery = z.strictObject(
  pageParameters(z.tuple([cursorTime, z.string().regex(SESSION_ID_PATTERN)])),
)

const ListedSession = z
  .object({
    sessionId: z.string(),
    createdAt: instant,
    lastSeenAt: instant.meta({ description: 'To the minute.' }),
    address: z.string().nullable().meta({ description: 'Where it started.' }),
    userAgent: z.string().nullable().meta({ description: 'As the browser sent it; at most 200 characters.' }),
    current: z.boolean().meta({ description: 'Whether this request uses it.' }),
  })
  .meta({ id: 'ListedSession' })

const SessionPage = z.object({ sessions: z.array(ListedSession), nextCursor }).meta({ id: 'SessionPage' })

export const listSessionsRoute = route({
  method: 'get',
  path: '/v1/sessions',
  operationId: 'listSessions',
  tag: 'Session',
  summary: 'List your own sessions, newest first',
  description: 'Your live sessions, in every browser.',
  access: signedIn,
  query: SessionQuery,
  answers: { 200: { description: 'A page of live sessions.', schema: SessionPage } },
  async handle(
    { session: { userId, sessionId: currentId }, query: { limit, cursor } },
    { db, clock, sessionIdle_ms: idle_ms }: { db: Database; clock: Clock; sessionIdle_ms: number },
  ) {
    const after = cursor && { position: cursor[0], sessionId: cursor[1] }
    const now = new Date(clock.now())
    const sessions = await listSessions(db, { userId, now, idle_ms, after, limit: limit + 1 })
    const { rows, nextCursor } = page(sessions, limit, ({ position, sessionId }) => [position, sessionId])
    return { sessions: rows.map((session) => listedSession(session, currentId)), nextCursor }
  },
})

const listedSession = (
  { sessionId, createdAt, lastSeenAt, address, userAgent }: SessionListing,
  currentId: string,
): z.infer<typeof ListedSession> => ({
  sessionId,
  createdAt: createdAt.toISOString(),
  lastSeenAt: lastSeenAt.toISOString(),
  address,
  userAgent,
  current: sessionId === currentId,
})
