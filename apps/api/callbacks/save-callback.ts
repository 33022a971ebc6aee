import { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { recordActivity } from '../accounts/activity.ts'
import type { AddressReason } from '../guarded-fetch/address-verdict.ts'
import type { Internet } from '../guarded-fetch/internet.ts'
import { checkName } from '../guarded-fetch/name-verdict.ts'
import { checkPublicUrl, hostToLog, type PublicUrl } from '../guarded-fetch/url-verdict.ts'
import { createFairQueue, type FairQueue } from '../http/fair-queue.ts'
import { route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { canWrite } from '../people/access.ts'
import { CALLBACK_URL_PROBLEMS, type CallbackUrlProblemCode } from '../problems/callback-url-problems.ts'
import { Problem, unavailable } from '../problems/problems.ts'
import { lockCallbackUrl, saveDestination } from './destinations.ts'
import { Callback, callbackAnswer } from './read-callback.ts'

/** The URL is checked by checkPublicUrl instead of a schema, since each of its rules has its own code. */
const CallbackInput = z
  .strictObject({
    callbackUrl: z.nonoptional(z.unknown(), 'is required').meta({
      type: 'string',
      format: 'uri',
      maxLength: 2_048,
      description: 'A public HTTPS URL without credentials. It can be replaced, but not removed.',
      examples: ['https://hooks.example.com/events'],
    }),
  })
  .meta({ id: 'CallbackInput' })

/** Each look-up holds a socket for up to 3 s, and may send the name servers four packets. */
const LOOKUPS = { concurrency: 100, concurrencyPerKey: 2, waitingMax: 100, wait_ms: 5_000 }

/** Returns the queue in which companies take turns to look up names. */
export const createLookupTurns = (): FairQueue =>
  createFairQueue({
    ...LOOKUPS,
    refusal: () => unavailable('Too many callbacks are being saved. Try again shortly.'),
  })

type SaveNeeds = { db: Database; clock: Clock; lookupTurns: FairQueue } & Internet

export const saveCallbackRoute = route({
  method: 'patch',
  path: '/v1/vendor/:vendorId/callback-url',
  // A turn to ask DNS may take five seconds, and its answer three. The person's turn comes after that.
  deadline: 'own',
  operationId: 'saveCallback',
  tag: 'Callback',
  summary: 'Save the callback of a company',
  description: 'Replaces the saved URL. A refused URL changes nothing.',
  access: canWrite,
  body: CallbackInput,
  answers: { 200: { description: 'The saved callback.', schema: Callback } },
  problems: Object.keys(CALLBACK_URL_PROBLEMS) as CallbackUrlProblemCode[],
  async handle(
    { vendorId, session, inTurn, body: { callbackUrl: input } },
    { db, clock, lookupTurns, resolve, checkAddress }: SaveNeeds,
    ctx,
  ) {
    const { userId } = session
    const verdict = checkPublicUrl(input, checkAddress)
    if (!verdict.ok) throw refusal(ctx, { ...verdict, host: hostToLog(input) })
    const internet = { resolve, checkAddress }
    const verified = await lookupTurns(vendorId, () => verify(ctx, verdict.url, internet))
    const { href: callbackUrl, host } = verdict.url
    return inTurn(() =>
      db.transaction(async (transaction) => {
        const previousUrl = await lockCallbackUrl(transaction, vendorId)
        const updatedAt = new Date(clock.now())
        await saveDestination(transaction, { vendorId, callbackUrl, verified, updatedAt, updatedBy: userId })
        // Only the host, because the rest of the URL may be a secret of the receiver's.
        const before = previousUrl === undefined ? null : { host: new URL(previousUrl).host }
        const detail = { before, after: { host } }
        await recordActivity(transaction, { vendorId, by: userId }, 'callback.saved', host, detail)
        return callbackAnswer(transaction, vendorId)
      }),
    )
  },
})

/**
 * Returns whether DNS answered, and only with public addresses.
 * @throws Problem if it returns one that is not. Without an answer the URL is saved, since sends fail closed.
 */
async function verify(ctx: ApiContext, url: PublicUrl, internet: Internet): Promise<boolean> {
  if (url.address !== null) return true
  const verdict = await checkName(url.hostname, internet)
  if (verdict.kind === 'not_public') {
    const code = 'callback_url_resolves_to_private_address'
    const sentence = CALLBACK_URL_PROBLEMS[code]
    throw refusal(ctx, { code, sentence, host: url.hostname, addressReason: verdict.reason })
  }
  return verdict.kind === 'public' && verdict.complete
}

interface RefusedUrl {
  code: CallbackUrlProblemCode
  sentence: string
  /** The part of the URL that may be logged. The rest may contain a secret. */
  host: string | null
  addressReason: AddressReason | null
}

/** Logs the refusal and returns its problem. */
function refusal(ctx: ApiContext, { code, sentence, host, addressReason }: RefusedUrl): Problem {
  const { log, vendorId } = ctx.state
  log.info({ event: 'callback.refused', vendorId, code, host, addressReason }, 'callback URL refused')
  return new Problem(code, sentence, { errors: [{ pointer: '/callbackUrl', detail: sentence }] })
}
