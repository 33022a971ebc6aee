import { z } from 'zod'
import { isDate } from '#shared/analytics/calendar.ts'
import { failsIfMatch, matchesNone } from '#shared/http/entity-tag.ts'
import { Problem } from '#shared/problems/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { Manager } from '../http/manager.ts'
import { type Access, preconditionFailed, type RequireAccessToken, type Route, route } from '../http/route.ts'
import { instant, vendorId } from '../http/schemas.ts'
import type { ApiContext } from '../http/state.ts'
import { createCompanyCalendars } from './companies.ts'
import { createDailyRead, dailyRange } from './daily.ts'
import { postEvents } from './events.ts'

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

/** Conditional requests (RFC 9110 §13.1). */
const DailyHeaders = z.object({
  'If-None-Match': z
    .string()
    .optional()
    .meta({
      description: 'The ETag of an earlier answer; if nothing has changed since, the answer is 304.',
      examples: ['"3q2-7wAAAAAAAAAAAAAAAAAAAAA"'],
    }),
  'If-Match': z
    .string()
    .optional()
    .meta({
      description: 'An ETag; if the figures have another, the answer is 412.',
      // The one that any tester may send.
      examples: ['*'],
    }),
})

const count = z.int().min(0)
/** Exact, and so perhaps above what a double can hold. */
const total = count.meta({ maximum: undefined })
const totals = {
  impressions: total,
  clicks: total,
  orders: total,
  unitsSold: total,
  revenueMinor: total,
  boostSpendMinor: total,
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
    totals: z.object(totals).meta({ description: 'Days that are missing are left out.' }),
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

/**
 * Longer answers, of two months and more, are compressed for a caller who takes gzip. The length of a compressed answer
 * can give away a secret beside text that an attacker chooses (BREACH). Here there is neither: no token, and of the
 * request two dates that were checked.
 */
const COMPRESSED_MIN_BYTES = 8 * 1_024

const DAILY = {
  method: 'get',
  tag: 'Analytics',
  description: 'Without parameters: the 30 days that end today. At most 366 days.',
  query: DailyQuery,
  headers: DailyHeaders,
  answers: {
    200: {
      description: 'The figures.',
      schema: DailyAnalytics,
      headers: { ETag: 'Strong; changes exactly when the answer does.' },
    },
    304: {
      description: 'Nothing has changed since the answer with the ETag in If-None-Match.',
      headers: { ETag: 'The same.' },
    },
  },
  problems: ['not_found'],
} as const

export interface AnalyticsDependencies {
  db: Database
  clock: Clock
  manager: Access<Manager>
  accessToken: RequireAccessToken
  /** Counts events by client. */
  eventLimit: RateLimit
}

/** The daily figures, read by an integrator's access token and by a person's session, and the events behind them. */
export function createAnalyticsRoutes(deps: AnalyticsDependencies): Route[] {
  const { db, clock, manager, accessToken } = deps
  const findCompanyCalendar = createCompanyCalendars({ db, clock })
  const readDaily = createDailyRead({ db })

  async function handle(
    {
      vendorId,
      query,
      headers,
    }: { vendorId: string; query: z.infer<typeof DailyQuery>; headers: z.infer<typeof DailyHeaders> },
    ctx: ApiContext,
  ): Promise<undefined> {
    const company = await findCompanyCalendar(vendorId)
    if (!company) throw new Problem('not_found', 'This company no longer exists.')
    const answer = await readDaily(company, dailyRange(query, company))
    const small = answer.body.length >= COMPRESSED_MIN_BYTES && ctx.acceptsEncodings('gzip') === 'gzip'
    const tag = small ? answer.tag.replace(/"$/, '-gzip"') : answer.tag
    if (failsIfMatch(headers['If-Match'], tag)) throw preconditionFailed()
    ctx.res.setHeader('ETag', tag)
    ctx.res.setHeader('Vary', 'Accept-Encoding')
    ctx.res.setHeader('Cache-Control', 'private, no-cache')
    if (matchesNone(headers['If-None-Match'], tag)) {
      ctx.status = 304
      return
    }
    ctx.res.setHeader('Content-Type', 'application/json; charset=utf-8')
    if (small) ctx.res.setHeader('Content-Encoding', 'gzip')
    ctx.body = small ? await answer.gzipped() : answer.body
  }

  return [
    route({
      ...DAILY,
      path: '/v1/analytics/:vendorId/daily',
      operationId: 'readDaily',
      summary: 'Read the daily figures of a company',
      by: accessToken('analytics:read'),
      handle,
    }),
    postEvents({ ...deps, findCompanyCalendar }),
    route({
      ...DAILY,
      path: '/v1/vendor/:vendorId/analytics/daily',
      operationId: 'readDailyInWorkspace',
      summary: 'Read the daily figures in the workspace',
      by: manager,
      handle,
    }),
  ]
}
