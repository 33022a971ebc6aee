import type { Database } from '#shared/stores/postgres.ts'
import { type Route, route } from '../http/route.ts'
import type { SessionAccess } from './access.ts'
import { deleteSession as endSession } from './sessions.ts'

export const deleteSession = ({ db, session: by }: { db: Database; session: SessionAccess }): Route =>
  route({
    method: 'delete',
    path: '/v1/session',
    operationId: 'signOut',
    tag: 'Session',
    summary: 'Sign out',
    by,
    answers: { 204: { description: 'The session has ended.' } },
    async handle({ session }) {
      await endSession(db, session.tokenHash)
      return undefined
    },
  })
