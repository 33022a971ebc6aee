import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { route } from '../http/route.ts'
import { signedIn } from './access.ts'
import { Session } from './schemas.ts'
import { sessionAnswer } from './session-answer.ts'

export const readSessionRoute = route({
  method: 'get',
  path: '/v1/session',
  operationId: 'readSession',
  tag: 'Session',
  summary: 'Read your session',
  description: "The session's user and the companies they belong to.",
  by: signedIn,
  answers: { 200: { description: 'The session.', schema: Session } },
  handle: ({ session }, { db, clock }: { db: Database; clock: Clock }) =>
    sessionAnswer(db, session, Math.floor((session.expiresAt.getTime() - clock.now()) / 1_000)),
})
