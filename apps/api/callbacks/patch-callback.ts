import { appendActivity } from '#shared/activity.ts'
import { CALLBACK_URL_PROBLEMS, type CallbackUrlProblemCode } from '#shared/callback-url-problems.ts'
import { Problem } from '#shared/problems.ts'
import { type Route, route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import type { AddressReason } from './address-verdict.ts'
import { callbackAnswer } from './callback-answer.ts'
import { saveDestination } from './destinations.ts'
import { judgeName } from './name-verdict.ts'
import type { CallbackDependencies } from './routes.ts'
import { Callback, NewCallback } from './schemas.ts'
import { type CallbackUrl, hostToLog, judgeCallbackUrl } from './url-verdict.ts'

export function patchCallback(dependencies: CallbackDependencies): Route {
  const { db, clock, manager: by, resolve, judgeAddress } = dependencies

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

  return route({
    method: 'patch',
    path: '/v1/vendor/:vendorId/callback-url',
    operationId: 'saveCallback',
    tag: 'Callback',
    summary: 'Save the callback of a company',
    description: 'Replaces the saved callback. A URL that is refused changes nothing.',
    by,
    body: NewCallback,
    answers: { 200: { description: 'The saved callback.', schema: Callback } },
    problems: Object.keys(CALLBACK_URL_PROBLEMS) as CallbackUrlProblemCode[],
    async handle({ vendorId, session: { userId }, body: { callbackUrl: typed } }, ctx) {
      const verdict = judgeCallbackUrl(typed, judgeAddress)
      if (!verdict.ok) throw refused(ctx, { ...verdict, host: hostToLog(typed) })
      const verified = await verify(ctx, verdict.url)
      const { href: callbackUrl, host } = verdict.url
      const updatedAt = new Date(clock.now())
      await db.transaction(async (transaction) => {
        await saveDestination(transaction, { vendorId, callbackUrl, verified, updatedAt, updatedBy: userId })
        // The host only: the path may be a secret of the receiver.
        await appendActivity(transaction, { vendorId, userId, action: 'callback.saved', subject: host })
      })
      return callbackAnswer(db, vendorId)
    },
  })
}

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
