import type { Database } from '#shared/stores/postgres.ts'
import { route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { canManage, counted } from '../people/access.ts'
import { Problem, unavailable } from '../problems/problems.ts'
import { beginTest, endTest, findDestination } from './destinations.ts'
import { type TestSender, TOTAL_TIMEOUT_MS } from './sender.ts'
import { CallbackTest, type TestResult } from './test-result.ts'

export const sendTestEventRoute = route({
  method: 'post',
  path: '/v1/vendor/:vendorId/callback-test',
  // It waits for the receiver.
  deadline: 'own',
  operationId: 'sendTestEvent',
  tag: 'Callback',
  summary: 'Send a test event to the saved callback',
  description:
    'One POST of `{"type":"test_event","vendorId":…,"sentAt":…}`, tried once, without following redirects. ' +
    'The call succeeds whatever the receiver answers, and reports it. ' +
    `It takes at most ${TOTAL_TIMEOUT_MS / 1_000} seconds.`,
  access: counted(canManage, 'callbackTestsPerCompany', 'Too many test events for this company.'),
  answers: { 200: { description: 'The result of the test.', schema: CallbackTest } },
  problems: ['callback_not_configured', 'test_in_progress'],
  async handle({ vendorId }, { db, testSender }: { db: Database; testSender: TestSender }, ctx) {
    const test = await beginTest(db, vendorId)
    if (!test) throw await startProblem(db, vendorId)
    const caller = callerSignal(ctx)
    const { result, ...details } = await testSender
      .send({ url: test.callbackUrl, vendorId, signal: caller })
      .finally(() =>
        endTest(db, { vendorId, lease: test.lease }).catch((error: Error) =>
          // The lease expires on its own, and the caller still gets the result.
          ctx.state.log.warn(
            { event: 'callback.not_recorded', error: error.message },
            'the end of a callback test could not be recorded',
          ),
        ),
      )
    const outcome = result?.outcome ?? 'unconfirmed'
    ctx.state.log.info(
      { event: 'callback.tested', vendorId, outcome, status: result?.status, ...details },
      'callback tested',
    )
    if (!result && !caller.aborted) throw unavailable('The service is restarting. Send the test event again.')
    // Without a result the caller has disconnected, and no one reads the answer.
    return result as TestResult
  },
})

/** Returns why no test could begin. */
async function startProblem(db: Database, vendorId: string): Promise<Problem> {
  if (!(await findDestination(db, vendorId)))
    return new Problem('callback_not_configured', 'Save a callback URL first.')
  const detail = 'A test event for this company is already being sent. Wait for its result.'
  return new Problem('test_in_progress', detail)
}

/** Returns a signal that aborts when the caller's connection closes before it has its answer. */
function callerSignal(ctx: ApiContext): AbortSignal {
  const caller = new AbortController()
  ctx.res.once('close', () => caller.abort())
  if (ctx.res.destroyed) caller.abort()
  return caller.signal
}
