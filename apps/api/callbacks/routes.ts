import type { z } from 'zod'
import { appendActivity } from '#shared/activity.ts'
import { CALLBACK_URL_PROBLEMS, type CallbackUrlProblemCode } from '#shared/callback-url-problems.ts'
import { Problem } from '#shared/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { body } from '../http/body.ts'
import { documented } from '../http/documented.ts'
import { unavailable } from '../http/problem.ts'
import { createRouter } from '../http/routes.ts'
import { actorOf } from '../http/schemas.ts'
import type { ApiContext, ApiMiddleware, ApiRouter, SessionState } from '../http/state.ts'
import type { AddressReason, AddressRule } from './address-verdict.ts'
import { beginTest, endTest, findDestination, saveDestination } from './destinations.ts'
import { judgeName } from './name-verdict.ts'
import type { Resolve } from './resolver.ts'
import { Callback, CallbackTest, NewCallback } from './schemas.ts'
import type { TestSender } from './sender.ts'
import { type CallbackUrl, hostToLog, judgeCallbackUrl } from './url-verdict.ts'

export interface CallbackDependencies {
  db: Database
  clock: Clock
  manager: ApiMiddleware
  resolve: Resolve
  judgeAddress: AddressRule
  sender: TestSender
  testLimit: RateLimit
}

export function createCallbackRoutes(dependencies: CallbackDependencies): ApiRouter {
  const { db, clock, manager, resolve, judgeAddress, sender, testLimit } = dependencies

  const get: ApiMiddleware = async (ctx) => {
    ctx.body = await shown(vendorOf(ctx))
  }

  const save: ApiMiddleware = async (ctx) => {
    const { callbackUrl: typed } = ctx.state.body as z.infer<typeof NewCallback>
    const verdict = judgeCallbackUrl(typed, judgeAddress)
    if (!verdict.ok) throw refused(ctx, { ...verdict, host: hostToLog(typed) })
    const verified = await verify(ctx, verdict.url)
    const vendorId = vendorOf(ctx)
    const { userId } = ctx.state.session as SessionState
    const { href, host } = verdict.url
    await db.transaction(async (transaction) => {
      const updatedAt = new Date(clock.now())
      await saveDestination(transaction, {
        vendorId,
        callbackUrl: href,
        verified,
        updatedAt,
        updatedBy: userId,
      })
      // The host only: the path may be a secret of the receiver.
      await appendActivity(transaction, { vendorId, userId, action: 'callback.saved', subject: host })
    })
    ctx.body = await shown(vendorId)
  }

  /** @throws Problem if DNS returns an address that is not public. No answer is no reason to refuse: a send fails closed. */
  async function verify(ctx: ApiContext, url: CallbackUrl): Promise<boolean> {
    if (url.address !== null) return true
    const verdict = await judgeName(url.hostname, { resolve, judgeAddress })
    if (verdict.kind === 'not_public') {
      const code = 'callback_url_resolves_to_private_address'
      const { sentence } = CALLBACK_URL_PROBLEMS[code]
      throw refused(ctx, { code, sentence, host: url.hostname, addressReason: verdict.reason })
    }
    return verdict.kind === 'public' && verdict.complete
  }

  const test: ApiMiddleware = async (ctx) => {
    const vendorId = vendorOf(ctx)
    const rate = await testLimit.consume(vendorId)
    ctx.set(rateLimitHeaders(rate))
    if (!rate.allowed) throw new Problem('rate_limited', 'Too many test events were sent for this company.')
    const begun = await beginTest(db, vendorId)
    if (!begun) throw await notBegun(vendorId)
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
    if (!result && !caller.aborted) throw unavailable('The service is restarting. Send the test event again.')
    ctx.body = result
  }

  async function notBegun(vendorId: string): Promise<Problem> {
    const destination = await findDestination(db, vendorId)
    return destination
      ? new Problem(
          'test_in_progress',
          'A test event for this company is already being sent. Wait for its result.',
        )
      : new Problem('callback_not_configured', 'Save a callback URL first.')
  }

  async function shown(vendorId: string): Promise<z.infer<typeof Callback>> {
    const saved = await findDestination(db, vendorId)
    return {
      vendorId,
      callbackUrl: saved?.callbackUrl ?? null,
      verified: saved?.verified ?? false,
      updatedAt: saved?.updatedAt.toISOString() ?? null,
      updatedBy: saved ? actorOf(saved.updatedBy, saved.updatedByName) : null,
    }
  }

  return createRouter()
    .get(
      '/v1/vendor/:vendorId/callback-url',
      manager,
      documented(get, {
        tag: 'Callback',
        summary: 'Get the callback of a company',
        answers: { 200: { description: 'The saved callback.', schema: Callback } },
      }),
    )
    .patch(
      '/v1/vendor/:vendorId/callback-url',
      manager,
      body(NewCallback),
      documented(save, {
        tag: 'Callback',
        summary: 'Save the callback of a company',
        description: 'Replaces the saved callback. A URL that is refused changes nothing.',
        answers: { 200: { description: 'The saved callback.', schema: Callback } },
        problems: Object.keys(CALLBACK_URL_PROBLEMS) as CallbackUrlProblemCode[],
      }),
    )
    .post(
      '/v1/vendor/:vendorId/callback-test',
      manager,
      documented(test, {
        tag: 'Callback',
        summary: 'Send a test event to the saved callback',
        description:
          'One POST of `{"type":"test_event","vendorId":…,"sentAt":…}`, tried once, without following redirects. ' +
          'Whatever the receiver does is a result, not an error. Takes at most 10 seconds.',
        answers: { 200: { description: 'The result of the test.', schema: CallbackTest } },
        problems: ['callback_not_configured', 'test_in_progress', 'rate_limited'],
      }),
    )
}

const vendorOf = (ctx: ApiContext): string => ctx.state.vendorId as string

interface RefusedUrl {
  code: CallbackUrlProblemCode
  sentence: string
  /** What may be logged of the URL, which may hold a secret. */
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
