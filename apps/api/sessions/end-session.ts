import type { Database } from '#shared/stores/postgres.ts'
import { route } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import { signedIn } from './access.ts'
import { logSessionEnd } from './session-events.ts'
import { deleteUserSession, SESSION_ID_PATTERN } from './sessions.ts'

export const endSessionRoute = route({
  method: 'delete',
  path: '/v1/sessions/:sessionId',
  operationId: 'endSession',
  tag: 'Session',
  summary: 'End one of your own sessions',
  description: 'Takes effect at once.',
  access: signedIn,
  answers: { 204: { description: 'The session has ended.' } },
  problems: ['not_found'],
  async handle({ session: { userId }, params: { sessionId } }, { db }: { db: Database }, ctx) {
    const isId = SESSION_ID_PATTERN.test(sessionId)
    if (!isId || !(await deleteUserSession(db, { userId, sessionId })))
      throw new Problem('not_found', 'You have no such session.')
    logSessionEnd(ctx.state.log, { userId, sessionId, why: 'signed_out', from: ctx })
    return undefined
  },
})
