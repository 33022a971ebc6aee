import { page } from '../http/page.ts'
import { type Route, route } from '../http/route.ts'
import type { SessionDependencies } from './dependencies.ts'
import { SessionPage, SessionQuery } from './schemas.ts'
import { type ListedSession, listSessions } from './sessions.ts'

export const getSessions = ({
  db,
  clock,
  session: by,
  sessionIdle_ms: idle_ms,
}: SessionDependencies): Route =>
  route({
    method: 'get',
    path: '/v1/sessions',
    operationId: 'listSessions',
    tag: 'Session',
    summary: 'List your own sessions, newest first',
    description: 'Your live sessions, in every browser.',
    by,
    query: SessionQuery,
    answers: { 200: { description: 'A page of live sessions.', schema: SessionPage } },
    async handle({ session: { userId, sessionId: currentId }, query: { limit, cursor } }) {
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
