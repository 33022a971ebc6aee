import { z } from 'zod'
import { unknownName, ZOD_OPTIONS } from '../http/input.ts'
import { isDate } from './calendar.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Events may be reported this long after they occurred, so a day may change this long after its end. */
export const EVENT_AGE_MAX_MS = 72 * HOUR_MS
/** How far the sender's clock may be ahead. */
const EVENT_AHEAD_MAX_MS = 5 * MINUTE_MS
/** An id sent again within this time is recognised as a repeat. The minimum of a setting. */
export const EVENT_IDS_REMEMBERED_DAYS_MIN = 35
/**
 * An import may add to a day for this long after the day's first event was stored. All of its ids are still
 * remembered then, with days to spare, so every repeat is recognised. A setting that remembers ids for longer
 * does not change this, since ids that were forgotten before it was raised stay forgotten.
 */
export const DAY_OPEN_TO_IMPORTS_DAYS = 30
const EVENT_ID_MAX_CHARACTERS = 255
/** More would help no one: a sender that is wrong once is often wrong a thousand times. */
const FAULTS_MAX = 2
/** Sums and counts stay below 2^53, which every JSON reader reads exactly. */
export const COUNT_MAX = Number.MAX_SAFE_INTEGER

// date-time of RFC 3339 §5.6, where T and Z may be in lower case; a leap second (:60) is left out.
const TIME =
  /^(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?)(?:Z|([-+])([01]\d|2[0-3]):([0-5]\d))$/i
const CLOCK_TO_MS_CHARACTERS = 'hh:mm:ss.mmm'.length
const CONTROL_CHARACTER = /\p{Cc}/u

/**
 * Fractions of a millisecond are dropped. Returns Unix time in ms, or NaN for text that is not a time, for a
 * date that does not exist, or before 1970.
 */
function instant_ms(text: string): number {
  const [, date, clock = '', sign, hours, minutes] = TIME.exec(text) ?? []
  // Date.parse takes 30 February for 2 March.
  if (date === undefined || (date.slice(8) > '28' && !isDate(date))) return Number.NaN
  const local_ms = Date.parse(`${date}T${clock.slice(0, CLOCK_TO_MS_CHARACTERS)}Z`)
  const offset_ms = sign ? Number(`${sign}1`) * (Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS) : 0
  const time_ms = local_ms - offset_ms
  return time_ms >= 0 ? time_ms : Number.NaN
}

const eventId = z
  .string('must be a string')
  .refine((text) => {
    // Between one and two UTF-16 units a character: count only where it can matter.
    const length = text.length <= EVENT_ID_MAX_CHARACTERS ? text.length : [...text.slice(0, 1_000)].length
    return length >= 1 && length <= EVENT_ID_MAX_CHARACTERS
  }, `must have 1 to ${EVENT_ID_MAX_CHARACTERS} characters`)
  .refine(
    (text) => text.isWellFormed() && !CONTROL_CHARACTER.test(text),
    'must be Unicode text without control characters',
  )
  .meta({
    minLength: 1,
    maxLength: EVENT_ID_MAX_CHARACTERS,
    description:
      'Your own id of the event, compared byte by byte. The same id counts once, for at least 35 days; the first content stays.',
  })

const occurredAt = z
  .string('must be a string')
  .transform((text, context) => {
    const time_ms = instant_ms(text)
    if (Number.isNaN(time_ms)) {
      context.addIssue(
        'must be a time from 1970 on in RFC 3339, with seconds (00 to 59) and Z or an offset, such as 2026-11-20T17:04:00Z',
      )
    }
    return time_ms
  })
  .meta({
    format: 'date-time',
    description:
      'RFC 3339 with Z or any offset; not a leap second. ' +
      `At most ${EVENT_AGE_MAX_MS / HOUR_MS} hours ago and at most ${EVENT_AHEAD_MAX_MS / MINUTE_MS} minutes ahead.`,
  })

const whole = (min: number) =>
  z.int(`must be a whole number from ${min} to ${COUNT_MAX}`).min(min, `must be at least ${min}`)

const count = (description: string) => whole(1).default(1).meta({ description })
const amountMinor = (description: string) => whole(0).meta({ description })

const currency = z.string("must be the company's currency").meta({
  description: "ISO 4217; must be the company's currency.",
  pattern: '^[A-Z]{3}$',
  examples: ['EUR'],
})

const countedEvent = <T extends string>(type: T, id: string, what: string) =>
  z.strictObject({ eventId, type: z.literal(type), occurredAt, quantity: count(what) }).meta({ id })

/** One event as it is sent. Each type has its own required and optional members. */
export const analyticsEventSchema = z.discriminatedUnion(
  'type',
  [
    countedEvent('impression', 'ImpressionEvent', 'How many impressions.'),
    countedEvent('click', 'ClickEvent', 'How many clicks.'),
    z
      .strictObject({
        eventId,
        type: z.literal('order'),
        occurredAt,
        quantity: count('How many units were sold.'),
        amountMinor: amountMinor('Revenue in minor units of the currency.'),
        currency,
      })
      .meta({ id: 'OrderEvent' }),
    z
      .strictObject({
        eventId,
        type: z.literal('boost_spend'),
        occurredAt,
        amountMinor: amountMinor('What was spent, in minor units of the currency.'),
        currency,
      })
      .meta({ id: 'BoostSpendEvent' }),
  ],
  {
    error: ({ code }) =>
      `must be ${code === 'invalid_union' ? '' : 'an event whose type is '}impression, click, order or boost_spend`,
  },
)

export type AnalyticsEventType = z.infer<typeof analyticsEventSchema>['type']

/** An event that has passed every rule, with the company's day that it counts for. */
export interface AnalyticsEvent {
  eventId: string
  type: AnalyticsEventType
  occurredAt_ms: number
  /** `YYYY-MM-DD` in the company's time zone. */
  date: string
  /** null: this type has none. */
  quantity: number | null
  amountMinor: number | null
}

/** What an event is checked against, besides its own shape. */
export interface EventRules {
  now_ms: number
  currency: string
  /** Returns the date of an instant in the company's time zone. */
  findDate: (at_ms: number) => string
  /** The greatest age that is still accepted. Infinity: any age. */
  ageMax_ms: number
}

/** What is wrong with a member of an event. */
export interface EventFault {
  path: PropertyKey[]
  detail: string
}

/** Checks one event as it was sent. Returns the event, or its first two faults. Never throws. */
export function checkEvent(
  input: unknown,
  { now_ms, ageMax_ms, currency: expected, findDate }: EventRules,
): { event: AnalyticsEvent } | { faults: EventFault[] } {
  const parsed = analyticsEventSchema.safeParse(input, ZOD_OPTIONS)
  if (!parsed.success) return { faults: parsed.error.issues.flatMap(faultsOf).slice(0, FAULTS_MAX) }
  const event = parsed.data
  const occurredAt_ms = event.occurredAt
  const faults: EventFault[] = []
  const refuseTime = (detail: string) => faults.push({ path: ['occurredAt'], detail })
  if (now_ms - occurredAt_ms > ageMax_ms)
    refuseTime(`must not lie more than ${ageMax_ms / HOUR_MS} hours in the past`)
  if (occurredAt_ms - now_ms > EVENT_AHEAD_MAX_MS)
    refuseTime('must not lie more than 5 minutes in the future')
  if ('currency' in event && event.currency !== expected)
    faults.push({ path: ['currency'], detail: `must be ${expected}, the company's currency` })
  if (faults.length > 0) return { faults }
  return {
    event: {
      eventId: event.eventId,
      type: event.type,
      occurredAt_ms,
      date: findDate(occurredAt_ms),
      quantity: 'quantity' in event ? event.quantity : null,
      amountMinor: 'amountMinor' in event ? event.amountMinor : null,
    },
  }
}

const FIELDS = new Set(analyticsEventSchema.options.flatMap(({ shape }) => Object.keys(shape)))
const unknownDetail = (key: string): string =>
  FIELDS.has(key) ? 'is not a known field for this type' : unknownName('field')

const faultsOf = (issue: z.core.$ZodIssue): EventFault[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys
        .slice(0, FAULTS_MAX)
        .map((key) => ({ path: [...issue.path, key], detail: unknownDetail(key) }))
    : [{ path: issue.path, detail: issue.message }]
