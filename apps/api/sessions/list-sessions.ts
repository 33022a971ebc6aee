import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { page } from '../http/page.ts'
import { route } from '../http/route.ts'
import { signedIn } from './access.ts'
import { SessionPage, SessionQuery } from './schemas.ts'
import { type ListedSession, listSessions } from './sessions.ts'

export const listSessionsRoute = route({
  method: 'get',
  path: '/v1/sessions',
  operationId: 'listSessions',
  tag: 'Session',
  summary: 'List your own sessions, newest first',
  description: 'Your live sessions, in every browser.',
  by: signedIn,
  query: SessionQuery,
  answers: { 200: { description: 'A page of live sessions.', schema: SessionPage } },
  async handle(
    { session: { userId, sessionId: currentId }, query: { limit, cursor } },
    { db, clock, sessionIdle_ms: idle_ms }: { db: Database; clock: Clock; sessionIdle_ms: number },
  ) {
    const after = cursor && { position: cursor[0], sessionId: cursor[1] }
    const now = new Date(clock.now())
    const found = await listSessions(db, { userId, now, idle_ms, after, limit: limit + 1 })
    const { rows, nextCursor } = page(found, limit, ({ position, sessionId }) => [position, sessionId])
    return { sessions: rows.map((one) => shown(one, currentId)), nextCursor }
  },
})

const shown = (
  { sessionId, createdAt, lastSeenAt, address, userAgent }: ListedSession,
  currentId: string,
) => ({
  sessionId,
  createdAt: createdAt.toISOString(),
  lastSeenAt: lastSeenAt.toISOString(),
  address,
  userAgent,
  current: sessionId === currentId,
})
