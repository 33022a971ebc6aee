import { Problem } from '#shared/problems.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { unavailable } from '../http/problem.ts'
import { type Route, route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { beginTest, endTest, findDestination } from './destinations.ts'
import type { CallbackDependencies } from './routes.ts'
import { CallbackTest } from './schemas.ts'

export const postCallbackTest = ({ db, manager: by, sender, testLimit }: CallbackDependencies): Route =>
  route({
    method: 'post',
    path: '/v1/vendor/:vendorId/callback-test',
    operationId: 'sendTestEvent',
    tag: 'Callback',
    summary: 'Send a test event to the saved callback',
    description:
      'One POST of `{"type":"test_event","vendorId":…,"sentAt":…}`, tried once, without following redirects. ' +
      'Whatever the receiver does is a result, not an error. Takes at most 10 seconds.',
    by,
    answers: { 200: { description: 'The result of the test.', schema: CallbackTest } },
    problems: ['callback_not_configured', 'test_in_progress'],
    async handle({ vendorId }, ctx) {
      const rate = await testLimit.consume(vendorId)
      ctx.set(rateLimitHeaders(rate))
      if (!rate.allowed) throw new Problem('rate_limited', 'Too many test events were sent for this company.')
      const begun = await beginTest(db, vendorId)
      if (!begun) throw await notBegun(db, vendorId)
      const caller = callerSignal(ctx)
      const { result, ...verdict } = await sender
        .send({ url: begun.callbackUrl, vendorId, signal: caller })
        .finally(() =>
          endTest(db, { vendorId, lease: begun.lease }).catch((error: Error) =>
            // The lease expires on its own; the result matters more.
            ctx.state.log.warn({ error: error.message }, 'the end of a callback test could not be recorded'),
          ),
        )
      const outcome = result?.outcome ?? 'unconfirmed'
      ctx.state.log.info(
        { event: 'callback.tested', vendorId, outcome, status: result?.status, ...verdict },
        'callback tested',
      )
      if (!result && !caller.aborted)
        throw unavailable('The service is restarting. Send the test event again.')
      return result ?? undefined
    },
  })

async function notBegun(db: Database, vendorId: string): Promise<Problem> {
  const destination = await findDestination(db, vendorId)
  return destination
    ? new Problem(
        'test_in_progress',
        'A test event for this company is already being sent. Wait for its result.',
      )
    : new Problem('callback_not_configured', 'Save a callback URL first.')
}

/** Aborted when the caller's connection closes before it has its answer. */
function callerSignal(ctx: ApiContext): AbortSignal {
  const caller = new AbortController()
  ctx.res.once('close', () => caller.abort())
  if (ctx.res.destroyed) caller.abort()
  return caller.signal
}
