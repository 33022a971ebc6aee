import type { Database } from '#shared/stores/postgres.ts'
import { route } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import { signedIn } from './access.ts'
import { logSessionEnd } from './session-end.ts'
import { deleteSessionOf } from './sessions.ts'

const SESSION_ID = /^sid_[0-9a-f]{32}$/

export const endSessionRoute = route({
  method: 'delete',
  path: '/v1/sessions/:sessionId',
  operationId: 'endSession',
  tag: 'Session',
  summary: 'End one of your own sessions',
  description: 'Takes effect at once.',
  by: signedIn,
  answers: { 204: { description: 'The session has ended.' } },
  problems: ['not_found'],
  async handle({ session: { userId }, params: { sessionId } }, { db }: { db: Database }, ctx) {
    const ended = SESSION_ID.test(sessionId) && (await deleteSessionOf(db, { userId, sessionId }))
    if (!ended) throw new Problem('not_found', 'You have no such session.')
    logSessionEnd(ctx.state.log, { userId, sessionId, why: 'signed_out', from: ctx })
    return undefined
  },
})
