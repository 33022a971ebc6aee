import { z } from 'zod'
import { createDateOf } from '#shared/analytics/calendar.ts'
import { LATE_EVENTS_MS } from '#shared/analytics/daily.ts'
import { type AnalyticsEvent, analyticsEventSchema, judgeEvent } from '#shared/analytics/events.ts'
import { withoutRoundedNumbers } from '#shared/analytics/exact-numbers.ts'
import { SumTooLargeError, storeEvents } from '#shared/analytics/ingest.ts'
import { type InputError, Problem } from '#shared/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { body } from '../http/body.ts'
import { documented } from '../http/documented.ts'
import type { ApiMiddleware } from '../http/state.ts'
import type { CompanyCalendar, FindCompanyCalendar } from './companies.ts'

import { createTurns } from './turns.ts'

const BODY_LIMIT_BYTES = 1_024 * 1_024
const EVENTS_MAX = 1_000
/** More at once would only wait for each other in the rows of the company's days. */
const CALLS_AT_ONCE_PER_COMPANY = 2
const CALLS_WAITING_PER_COMPANY = 100
/** Less than a proxy in front waits for an answer. */
const CALL_WAIT_MS = 15_000

const events = <T extends z.ZodType>(element: T) =>
  z.strictObject(
    {
      events: z
        .array(element, 'must be an array')
        .min(1, 'must hold at least one event')
        .max(EVENTS_MAX, `must hold at most ${EVENTS_MAX} events`),
    },
    'must be an object',
  )

/** What is read first: each event is then judged on its own, so that the answer can name every bad one. */
const Envelope = events(z.unknown())
const EventsBody = events(analyticsEventSchema).meta({ id: 'AnalyticsEvents' })

const EventsAnswer = z
  .object({
    accepted: z.int().min(0).meta({ description: 'Counted by this call.' }),
    duplicates: z
      .int()
      .min(0)
      .meta({ description: 'Not counted again: the id came before, in this call or an earlier one.' }),
  })
  .meta({ id: 'AnalyticsEventsAnswer' })

export interface EventIntakeDependencies {
  db: Database
  clock: Clock
  findCompanyCalendar: FindCompanyCalendar
}

/** The part of POST /v1/analytics/{vendor_id}/events that follows the access token. */
export function createEventIntake({
  db,
  clock,
  findCompanyCalendar,
}: EventIntakeDependencies): ApiMiddleware[] {
  const takeTurns = createTurns({
    atOnce: CALLS_AT_ONCE_PER_COMPANY,
    waitingMax: CALLS_WAITING_PER_COMPANY,
    wait_ms: CALL_WAIT_MS,
  })
  const dateFinders = new Map<string, (at_ms: number) => string>()

  function dateOf(timezone: string): (at_ms: number) => string {
    const finder = dateFinders.get(timezone) ?? createDateOf(timezone)
    dateFinders.set(timezone, finder)
    return finder
  }

  /** @throws Problem invalid_input that names every bad event. */
  function judge(sent: readonly unknown[], { timezone, currency }: CompanyCalendar): AnalyticsEvent[] {
    const rules = { now_ms: clock.now(), ageMax_ms: LATE_EVENTS_MS, currency, dateOf: dateOf(timezone) }
    const good: AnalyticsEvent[] = []
    const errors: InputError[] = []
    sent.forEach((one, index) => {
      const judged = judgeEvent(one, rules)
      if ('event' in judged) good.push(judged.event)
      else
        errors.push(...judged.faults.map(({ path, detail }) => ({ pointer: pointer(index, path), detail })))
    })
    if (errors.length > 0) throw refused(errors)
    return good
  }

  const intake: ApiMiddleware = async (ctx) => {
    const vendorId = ctx.state.vendorId as string
    const company = await findCompanyCalendar(vendorId)
    if (!company) throw new Problem('not_found', 'There is no such company any more.')
    const { rawBody } = ctx.request as unknown as { rawBody: string }
    const { events: sent } = withoutRoundedNumbers(rawBody, ctx.state.body) as z.infer<typeof Envelope>
    const good = judge(sent, company)
    ctx.body = await takeTurns(vendorId, () => storeEvents(db, vendorId, good)).catch((error: unknown) => {
      throw error instanceof SumTooLargeError ? refused(error.indexes.map(tooLarge)) : error
    })
  }

  documented(intake, {
    tag: 'Analytics',
    summary: 'Report events',
    description: `1 to ${EVENTS_MAX} events, at most 1 MiB. All of them are stored, or with a 422 none. A call can be repeated safely: what was counted is not counted again.`,
    body: EventsBody,
    answers: {
      200: { description: 'Stored durably; the next daily read shows it.', schema: EventsAnswer },
    },
  })
  return [body(Envelope, { limit_bytes: BODY_LIMIT_BYTES }), intake]
}

const pointer = (index: number, path: readonly PropertyKey[]): string =>
  ['/events', index, ...path.map((part) => String(part).replaceAll('~', '~0').replaceAll('/', '~1'))].join(
    '/',
  )

const tooLarge = (index: number): InputError => ({
  pointer: `/events/${index}`,
  detail: 'must not take a sum of its day past 9007199254740991',
})

const refused = (errors: InputError[]): Problem =>
  new Problem('invalid_input', 'Nothing was stored; errors names each event that breaks a rule.', { errors })
