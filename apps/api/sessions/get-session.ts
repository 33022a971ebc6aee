import { type Route, route } from '../http/route.ts'
import type { SessionDependencies } from './dependencies.ts'
import { Session } from './schemas.ts'
import { sessionAnswer } from './session-answer.ts'

export const getSession = ({ db, clock, session: by }: SessionDependencies): Route =>
  route({
    method: 'get',
    path: '/v1/session',
    operationId: 'readSession',
    tag: 'Session',
    summary: 'Read your session',
    description: "The session's user and the companies they belong to.",
    by,
    answers: { 200: { description: 'The session.', schema: Session } },
    handle: ({ session }) =>
      sessionAnswer(db, session, Math.floor((session.expiresAt.getTime() - clock.now()) / 1_000)),
  })
