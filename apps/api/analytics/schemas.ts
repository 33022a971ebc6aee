import { z } from 'zod'
import { instant, vendorId } from '../http/schemas.ts'
import { isDate } from './calendar.ts'

const date = z.iso.date().meta({ description: "A date in the company's time zone." })
const dateParameter = (description: string) =>
  z
    .string()
    .refine(isDate, 'must be a date, YYYY-MM-DD')
    .optional()
    .meta({ format: 'date', description: `${description} A date in the company's time zone, inclusive.` })

export const DailyQuery = z.strictObject({
  from: dateParameter('The first day, at most 365 days before `to`. Default: 29 days before `to`.'),
  to: dateParameter('The last day; defaults to today.'),
})

/** Conditional requests (RFC 9110 §13.1). */
export const DailyHeaders = z.object({
  'If-None-Match': z
    .string()
    .optional()
    .meta({
      description: 'The ETag of an earlier response. If nothing has changed since, the response is 304.',
      examples: ['"3q2-7wAAAAAAAAAAAAAAAAAAAAA"'],
    }),
  'If-Match': z
    .string()
    .optional()
    .meta({
      description: 'An ETag. If it does not match the current one, the response is 412.',
      // The one that any tester may send.
      examples: ['*'],
    }),
})

const count = z.int().min(0)
const totals = {
  impressions: count,
  clicks: count,
  orders: count,
  unitsSold: count,
  revenueMinor: count,
  boostSpendMinor: count,
}
const metric = count.nullable()

export const DailyAnalytics = z
  .object({
    vendorId,
    range: z.object({ from: date, to: date, timezone: z.string().meta({ examples: ['Europe/Berlin'] }) }),
    currency: z.string().meta({ description: 'ISO 4217; amounts are in its minor unit.', examples: ['EUR'] }),
    dataThrough: instant
      .nullable()
      .meta({ description: 'The time of the newest event; null if there is none.' }),
    totals: z.object(totals).meta({ description: 'Missing days are not included.' }),
    days: z
      .array(
        z.object({
          date,
          status: z.enum(['missing', 'provisional', 'final']).meta({
            description:
              'missing: nothing was reported and the metrics are null. provisional: not over, or ended less than 72 hours ago; may change.',
          }),
          impressions: metric,
          clicks: metric,
          orders: metric,
          unitsSold: metric,
          revenueMinor: metric,
          boostSpendMinor: metric,
        }),
      )
      .meta({ description: 'Every day of the range, oldest first.' }),
  })
  .meta({ id: 'DailyAnalytics' })

export type DailyAnalytics = z.infer<typeof DailyAnalytics>
