import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type RateLimit, type RateLimitVerdict, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { accessToken } from '../access-tokens/access.ts'
import { BODY_PROBLEMS, bodyReader } from '../http/body.ts'
import { createFairQueue, type FairQueue } from '../http/fair-queue.ts'
import { longName } from '../http/input.ts'
import { VALUES_MAX } from '../http/json.ts'
import { route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { type InputError, Problem, unavailable } from '../problems/problems.ts'
import { createDateFinder } from './calendar.ts'
import type { CompanyCalendar, FindCompanyCalendar } from './company-calendar.ts'
import {
  type AnalyticsEvent,
  analyticsEventSchema,
  checkEvent,
  EVENT_AGE_MAX_MS,
  type EventFault,
} from './event.ts'
import { SumTooLargeError, storeEvents } from './store.ts'

const BODY_LIMIT_BYTES = 1_024 * 1_024
const EVENTS_MAX = 1_000

/** The maximum number of bodies in a process's memory, across all companies. */
const CALL_CONCURRENCY = 32
/** More would only wait for each other's locks on the company's days. */
const CALL_CONCURRENCY_PER_COMPANY = 2
/** Across all companies. One company may fill the queue while it is alone; others then displace its calls. */
const CALLS_WAITING_MAX = 200
/** Shorter than the timeout of a proxy in front, and short enough for a slow body to arrive afterwards. */
const CALL_WAIT_MS = 15_000
/** How long checking a call holds up other requests at a time. */
const CHECKING_TURN_MS = 1

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

/** Parsed first. Each event is then validated separately, so that the answer can name every invalid one. */
export const EventsEnvelope = events(z.unknown())
const readEnvelope = bodyReader(EventsEnvelope, BODY_LIMIT_BYTES)
const EventsBody = events(analyticsEventSchema).meta({ id: 'AnalyticsEvents' })

const EventsAnswer = z
  .object({
    accepted: z.int().min(0).meta({ description: 'Counted by this call.' }),
    duplicates: z.int().min(0).meta({
      description: 'Not counted again, because the id appeared before in this call or an earlier one.',
    }),
  })
  .meta({ id: 'AnalyticsEventsAnswer' })

/** Returns the queue in which companies take turns to report events. */
export const createEventTurns = (): FairQueue =>
  createFairQueue({
    concurrency: CALL_CONCURRENCY,
    concurrencyPerKey: CALL_CONCURRENCY_PER_COMPANY,
    waitingMax: CALLS_WAITING_MAX,
    wait_ms: CALL_WAIT_MS,
    refusal: () => unavailable('Too many calls that report events are waiting. Try again shortly.'),
  })

interface EventNeeds {
  integratorsDb: Database
  clock: Clock
  findCompanyCalendar: FindCompanyCalendar
  eventTurns: FairQueue
  /** Counts events by client. */
  eventsPerClient: RateLimit
}

export const reportEventsRoute = route({
  method: 'post',
  path: '/v1/analytics/:vendorId/events',
  // It waits for its turn and for a slow sender.
  deadline: 'own',
  operationId: 'reportEvents',
  tag: 'Analytics',
  summary: 'Report events',
  description: `1 to ${EVENTS_MAX} events, at most 1 MiB and ${VALUES_MAX.toLocaleString('en')} JSON values. Either all are stored or, with a 422, none. A call can be repeated safely: events already counted are not counted again.`,
  access: accessToken('analytics:write'),
  publishedBody: EventsBody,
  bodyLimit_bytes: BODY_LIMIT_BYTES,
  answers: {
    200: { description: 'Stored durably. The next daily read includes them.', schema: EventsAnswer },
  },
  problems: ['not_found', ...BODY_PROBLEMS],
  async handle({ clientId, vendorId }, needs: EventNeeds, ctx) {
    // The number of events is known only once the body is read. If the client's limit is used up, it is not
    // read.
    const rate = await needs.eventsPerClient.consume(clientId, 0)
    if (!rate.allowed) throw overLimit(rate)
    // A call takes its place before its body is read, so waiting calls hold no bodies in memory.
    return needs.eventTurns(vendorId, () => storeSentEvents({ clientId, vendorId }, needs, ctx))
  },
})

async function storeSentEvents(
  { clientId, vendorId }: { clientId: string; vendorId: string },
  { integratorsDb, clock, findCompanyCalendar, eventsPerClient }: EventNeeds,
  ctx: ApiContext,
) {
  const { events: input } = await readEnvelope(ctx).catch(async (error: unknown) => {
    // A refused body may have taken as long to read as the largest call.
    await eventsPerClient.consume(clientId, EVENTS_MAX)
    throw error
  })
  const rate = await eventsPerClient.consume(clientId, input.length)
  if (!rate.allowed) {
    // A smaller call may still fit.
    throw overLimit(await eventsPerClient.consume(clientId, -input.length))
  }
  ctx.state.fields.push(...Object.entries(rateLimitHeaders(rate)).flat())
  const company = await findCompanyCalendar(vendorId)
  if (!company) throw new Problem('not_found', 'This company no longer exists.')
  const events = await requireValidEvents(input, company, clock.now())
  return storeEvents(integratorsDb, vendorId, events).catch((error: unknown) => {
    throw error instanceof SumTooLargeError ? invalidEvents([SUM_TOO_LARGE]) : error
  })
}

/** Returns a call's events. @throws Problem invalid_input, which names every invalid one. */
export async function requireValidEvents(
  input: readonly unknown[],
  { timezone, currency }: Pick<CompanyCalendar, 'timezone' | 'currency'>,
  now_ms: number,
): Promise<AnalyticsEvent[]> {
  const rules = { now_ms, ageMax_ms: EVENT_AGE_MAX_MS, currency, findDate: dateFinderFor(timezone) }
  const verdicts: ReturnType<typeof checkEvent>[] = []
  let turnEnds_ms = performance.now() + CHECKING_TURN_MS
  for (const event of input) {
    if (performance.now() > turnEnds_ms) {
      await setImmediate()
      turnEnds_ms = performance.now() + CHECKING_TURN_MS
    }
    verdicts.push(checkEvent(event, rules))
  }
  const errors = eventErrors(verdicts.map((verdict) => ('faults' in verdict ? verdict.faults : [])))
  if (errors.length > 0) throw invalidEvents(errors)
  return verdicts.flatMap((verdict) => ('event' in verdict ? [verdict.event] : []))
}

/** By time zone, of which there are a few hundred. Creating one is slow. */
const dateFinders = new Map<string, (at_ms: number) => string>()

function dateFinderFor(timezone: string): (at_ms: number) => string {
  const finder = dateFinders.get(timezone) ?? createDateFinder(timezone)
  dateFinders.set(timezone, finder)
  return finder
}

const overLimit = (rate: RateLimitVerdict): Problem =>
  new Problem('rate_limited', 'Too many events from this client.', {
    headers: rateLimitHeaders({ ...rate, allowed: false }),
  })

const SUM_TOO_LARGE: InputError = {
  pointer: '/events',
  detail: 'must not raise a total of a day above 9007199254740991',
}

const invalidEvents = (errors: InputError[]): Problem =>
  new Problem('invalid_input', 'Nothing was stored; errors names each invalid event.', { errors })

/** Leaves room for the rest of the answer, which is limited to 256 KiB in total. */
const ERRORS_LIMIT_BYTES = 255 * 1_024
/** A longer pointer contains a member name that the caller invented. */
const POINTER_LIMIT_BYTES = 100

/**
 * Turns the faults of a call's events into the `errors[]` of a problem. Every invalid event is named. Its
 * further faults are added while there is room.
 * @param faults one list per event, in order; empty if the event is valid.
 */
function eventErrors(faults: readonly (readonly EventFault[])[]): InputError[] {
  const errors = faults.map((eventFaults, index) => eventFaults.map((fault) => inputError(index, fault)))
  let left_bytes = ERRORS_LIMIT_BYTES
  for (const [first] of errors) if (first) left_bytes -= size_bytes(first)
  return errors.flatMap(([first, ...others]) => {
    if (!first) return []
    const fitting = others.filter((error) => {
      left_bytes -= size_bytes(error)
      return left_bytes >= 0
    })
    return [first, ...fitting]
  })
}

function inputError(index: number, { path, detail }: EventFault): InputError {
  const parts = path.map((part) => String(part).replaceAll('~', '~0').replaceAll('/', '~1'))
  const pointer = ['/events', index, ...parts].join('/')
  if (Buffer.byteLength(JSON.stringify(pointer)) <= POINTER_LIMIT_BYTES) return { pointer, detail }
  return { pointer: `/events/${index}`, detail: longName('field') }
}

/** With the comma that follows it. */
const size_bytes = (error: InputError): number => Buffer.byteLength(JSON.stringify(error)) + 1
