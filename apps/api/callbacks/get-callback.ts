import { type Route, route } from '../http/route.ts'
import { callbackAnswer } from './callback-answer.ts'
import type { CallbackDependencies } from './routes.ts'
import { Callback } from './schemas.ts'

export const getCallback = ({ db, manager: by }: CallbackDependencies): Route =>
  route({
    method: 'get',
    path: '/v1/vendor/:vendorId/callback-url',
    operationId: 'readCallback',
    tag: 'Callback',
    summary: 'Read the callback of a company',
    by,
    answers: { 200: { description: 'The saved callback.', schema: Callback } },
    handle: ({ vendorId }) => callbackAnswer(db, vendorId),
  })
