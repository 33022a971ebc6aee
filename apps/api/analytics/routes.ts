import { z } from 'zod'
import { isDate } from '#shared/analytics/calendar.ts'
import { matchesNone } from '#shared/entity-tag.ts'
import { Problem } from '#shared/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import { type Documentation, documented } from '../http/documented.ts'
import { query } from '../http/input.ts'
import { createRouter } from '../http/routes.ts'
import { instant, vendorId } from '../http/schemas.ts'
import type { ApiMiddleware, ApiRouter, RequireAccessToken } from '../http/state.ts'
import { createCompanyCalendars } from './companies.ts'
import { createDailyRead, dailyRange } from './daily.ts'
import { createEventIntake } from './events.ts'

const date = z.iso.date().meta({ description: "A date in the company's time zone." })
const dateParameter = (description: string) =>
  z
    .string()
    .refine(isDate, 'must be a date, YYYY-MM-DD')
    .optional()
    .meta({ format: 'date', description: `${description} A date in the company's time zone, inclusive.` })

const DailyQuery = z.strictObject({
  from: dateParameter('The first day; without it, 29 days before `to`.'),
  to: dateParameter('The last day; without it, today.'),
})

const count = z.int().min(0)
const reportedMetrics = {
  impressions: count,
  clicks: count,
  orders: count,
  unitsSold: count,
  revenueMinor: count,
  boostSpendMinor: count,
}
const metric = count.nullable()

const DailyAnalytics = z
  .object({
    vendorId,
    range: z.object({ from: date, to: date, timezone: z.string().meta({ examples: ['Europe/Berlin'] }) }),
    currency: z.string().meta({ description: 'ISO 4217; amounts are in its minor unit.', examples: ['EUR'] }),
    dataThrough: instant
      .nullable()
      .meta({ description: 'The time of the newest event; null: there is none.' }),
    totals: z.object(reportedMetrics).meta({ description: 'Days that are missing are left out.' }),
    days: z
      .array(
        z.object({
          date,
          status: z.enum(['missing', 'provisional', 'final']).meta({
            description:
              'missing: nothing was reported, the metrics are null. provisional: ended less than 72 hours ago, may change.',
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

const DAILY: Documentation = {
  tag: 'Analytics',
  description: 'Without parameters: the 30 days that end today. At most 366 days.',
  answers: {
    200: {
      description: 'The figures.',
      schema: DailyAnalytics,
      headers: { ETag: 'Strong; changes exactly when the answer does.' },
    },
    304: { description: 'Nothing has changed since the answer with the ETag in If-None-Match.' },
  },
}

export interface AnalyticsDependencies {
  db: Database
  clock: Clock
  manager: ApiMiddleware
  accessToken: RequireAccessToken
  /** Counts events by client. */
  eventLimit: RateLimit
}

/** The daily figures, read by an integrator's access token and by a person's session, and the events behind them. */
export function createAnalyticsRoutes({
  db,
  clock,
  manager,
  accessToken,
  eventLimit,
}: AnalyticsDependencies): ApiRouter {
  const findCompanyCalendar = createCompanyCalendars({ db, clock })
  const readDaily = createDailyRead({ db })

  const daily: ApiMiddleware = async (ctx) => {
    const company = await findCompanyCalendar(ctx.state.vendorId as string)
    if (!company) throw new Problem('not_found', 'There is no such company any more.')
    const range = dailyRange(ctx.state.query as z.infer<typeof DailyQuery>, company)
    const { body, tag } = await readDaily(company, range)
    ctx.res.setHeader('ETag', tag)
    ctx.res.setHeader('Cache-Control', 'private, no-cache')
    if (matchesNone(ctx.headers['if-none-match'], tag)) {
      ctx.status = 304
      return
    }
    ctx.res.setHeader('Content-Type', 'application/json; charset=utf-8')
    ctx.body = body
  }

  const described = (summary: string): ApiMiddleware =>
    documented((ctx, next) => daily(ctx, next), { ...DAILY, summary })

  return createRouter()
    .get(
      '/v1/analytics/:vendorId/daily',
      accessToken('analytics:read'),
      query(DailyQuery),
      described('Read the daily figures of a company'),
    )
    .post(
      '/v1/analytics/:vendorId/events',
      accessToken('analytics:write'),
      ...createEventIntake({ db, clock, findCompanyCalendar, eventLimit }),
    )
    .get(
      '/v1/vendor/:vendorId/analytics/daily',
      manager,
      query(DailyQuery),
      described('Read the daily figures in the workspace'),
    )
}
