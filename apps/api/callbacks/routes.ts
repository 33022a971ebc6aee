import type { z } from 'zod'
import { record } from '#shared/accounts/activity.ts'
import { CALLBACK_URL_PROBLEMS, type CallbackUrlProblemCode } from '#shared/problems/callback-url-problems.ts'
import { Problem, unavailable } from '#shared/problems/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import type { Manager } from '../http/manager.ts'
import { type Access, type Route, route } from '../http/route.ts'
import { actorOf } from '../http/schemas.ts'
import type { ApiContext } from '../http/state.ts'
import type { AddressReason, AddressRule } from '../outbound/address-verdict.ts'
import { judgeName } from '../outbound/name-verdict.ts'
import type { Resolve } from '../outbound/resolver.ts'
import { type CallbackUrl, hostToLog, judgeCallbackUrl } from '../outbound/url-verdict.ts'
import { beginTest, endTest, findDestination, holdCallbackUrl, saveDestination } from './destinations.ts'
import { Callback, CallbackInput, CallbackTest, type TestResult } from './schemas.ts'
import type { TestSender } from './sender.ts'

export interface CallbackDependencies {
  db: Database
  clock: Clock
  manager: Access<Manager>
  /** As manager, for what changes something. */
  changer: Access<Manager>
  resolve: Resolve
  judgeAddress: AddressRule
  sender: TestSender
  testLimit: RateLimit
}

export const createCallbackRoutes = (deps: CallbackDependencies): Route[] => [
  getCallback(deps),
  patchCallback(deps),
  postCallbackTest(deps),
]

const getCallback = ({ db, manager: by }: CallbackDependencies): Route =>
  route({
    method: 'get',
    path: '/v1/vendor/:vendorId/callback-url',
    operationId: 'readCallback',
    tag: 'Callback',
    summary: 'Get the callback of a company',
    description: 'Returns the saved callback URL. `callbackUrl` is null if none was ever saved.',
    by,
    answers: { 200: { description: 'The saved callback.', schema: Callback } },
    handle: ({ vendorId }) => shown(db, vendorId),
  })

function patchCallback({ db, clock, changer: by, resolve, judgeAddress }: CallbackDependencies): Route {
  /** @throws Problem if DNS returns a non-public address. Without an answer the URL is saved, since sends fail closed. */
  async function verify(ctx: ApiContext, url: CallbackUrl): Promise<boolean> {
    if (url.address !== null) return true
    const verdict = await judgeName(url.hostname, { resolve, judgeAddress })
    if (verdict.kind === 'not_public') {
      const code = 'callback_url_resolves_to_private_address'
      const sentence = CALLBACK_URL_PROBLEMS[code]
      throw refused(ctx, { code, sentence, host: url.hostname, addressReason: verdict.reason })
    }
    return verdict.kind === 'public' && verdict.complete
  }

  return route({
    method: 'patch',
    path: '/v1/vendor/:vendorId/callback-url',
    operationId: 'saveCallback',
    tag: 'Callback',
    summary: 'Save the callback of a company',
    description: 'Replaces the saved URL. A refused URL changes nothing.',
    by,
    body: CallbackInput,
    answers: { 200: { description: 'The saved callback.', schema: Callback } },
    problems: Object.keys(CALLBACK_URL_PROBLEMS) as CallbackUrlProblemCode[],
    async handle({ vendorId, session: { userId }, body: { callbackUrl: typed } }, ctx) {
      const verdict = judgeCallbackUrl(typed, judgeAddress)
      if (!verdict.ok) throw refused(ctx, { ...verdict, host: hostToLog(typed) })
      const verified = await verify(ctx, verdict.url)
      const { href: callbackUrl, host } = verdict.url
      await db.transaction(async (transaction) => {
        const saved = { vendorId, callbackUrl, verified, updatedAt: new Date(clock.now()), updatedBy: userId }
        const former = await holdCallbackUrl(transaction, vendorId)
        await saveDestination(transaction, saved)
        // Only the host, because the rest of the URL may be a secret of the receiver's.
        const before = former === undefined ? null : { host: new URL(former).host }
        await record(transaction, { vendorId, by: userId }, 'callback.saved', host, {
          before,
          after: { host },
        })
      })
      return shown(db, vendorId)
    },
  })
}

const postCallbackTest = ({ db, manager: by, sender, testLimit }: CallbackDependencies): Route =>
  route({
    method: 'post',
    path: '/v1/vendor/:vendorId/callback-test',
    // It waits for the receiver.
    deadline: 'own',
    operationId: 'sendTestEvent',
    tag: 'Callback',
    summary: 'Send a test event to the saved callback',
    description:
      'One POST of `{"type":"test_event","vendorId":…,"sentAt":…}`, tried once, without following redirects. ' +
      'The call succeeds whatever the receiver answers, and reports it. It takes at most 10 seconds.',
    by,
    answers: { 200: { description: 'The result of the test.', schema: CallbackTest } },
    problems: ['callback_not_configured', 'test_in_progress', 'rate_limited'],
    async handle({ vendorId }, ctx) {
      const rate = await testLimit.consume(vendorId)
      ctx.set(rateLimitHeaders(rate))
      if (!rate.allowed) throw new Problem('rate_limited', 'Too many test events for this company.')
      const begun = await beginTest(db, vendorId)
      if (!begun) throw await notBegun(db, vendorId)
      const caller = callerSignal(ctx)
      const { result, ...verdict } = await sender
        .send({ url: begun.callbackUrl, vendorId, signal: caller })
        .finally(() =>
          endTest(db, { vendorId, lease: begun.lease }).catch((error: Error) =>
            // The lease expires on its own. The result matters more.
            ctx.state.log.warn(
              { event: 'callback.not_recorded', error: error.message },
              'the end of a callback test could not be recorded',
            ),
          ),
        )
      const outcome = result?.outcome ?? 'unconfirmed'
      ctx.state.log.info(
        { event: 'callback.tested', vendorId, outcome, status: result?.status, ...verdict },
        'callback tested',
      )
      if (!result && !caller.aborted)
        throw unavailable('The service is restarting. Send the test event again.')
      // Without a result the caller has disconnected, and no one reads the answer.
      return result as TestResult
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

async function shown(db: Database, vendorId: string): Promise<z.infer<typeof Callback>> {
  const saved = await findDestination(db, vendorId)
  return {
    vendorId,
    callbackUrl: saved?.callbackUrl ?? null,
    verified: saved?.verified ?? false,
    updatedAt: saved?.updatedAt.toISOString() ?? null,
    updatedBy: saved ? actorOf(saved.updatedBy, saved.updatedByName) : null,
  }
}

interface RefusedUrl {
  code: CallbackUrlProblemCode
  sentence: string
  /** The part of the URL that may be logged. The rest may contain a secret. */
  host: string | null
  addressReason: AddressReason | null
}

function refused(ctx: ApiContext, { code, sentence, host, addressReason }: RefusedUrl): Problem {
  ctx.state.log.info({ event: 'callback.refused', code, host, addressReason }, 'callback URL refused')
  return new Problem(code, sentence, { errors: [{ pointer: '/callbackUrl', detail: sentence }] })
}

/** Aborted when the caller's connection closes before it has its answer. */
function callerSignal(ctx: ApiContext): AbortSignal {
  const caller = new AbortController()
  ctx.res.once('close', () => caller.abort())
  if (ctx.res.destroyed) caller.abort()
  return caller.signal
}
