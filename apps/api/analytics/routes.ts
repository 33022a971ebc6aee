import type { z } from 'zod'
import { failsIfMatch, matchesNone } from '#shared/http/entity-tag.ts'
import { Problem } from '#shared/problems/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { Manager } from '../http/manager.ts'
import {
  type Access,
  type Json,
  preconditionFailed,
  type RequireAccessToken,
  type Route,
  route,
} from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { createCompanyCalendars } from './companies.ts'
import { createDailyReads, dailyRange } from './daily.ts'
import { postEvents } from './events.ts'
import { DailyAnalytics, DailyHeaders, DailyQuery } from './schemas.ts'

const CONDITIONAL = ['Cache-Control', 'ETag']

const DAILY = {
  method: 'get',
  tag: 'Analytics',
  description: 'Returns the 30 days that end today by default, and at most 366 days.',
  query: DailyQuery,
  headers: DailyHeaders,
  answers: {
    200: {
      description: 'The figures.',
      schema: DailyAnalytics,
      headers: CONDITIONAL,
    },
    304: {
      description: 'Unchanged: `If-None-Match` names its tag.',
      headers: CONDITIONAL,
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

/** Routes of the daily figures, read with an access token or a session, and of the events behind them. */
export function createAnalyticsRoutes(deps: AnalyticsDependencies): Route[] {
  const { db, clock, manager, accessToken } = deps
  const findCompanyCalendar = createCompanyCalendars({ db, clock })
  const { readRevision, readDaily } = createDailyReads({ db })

  async function handle(
    {
      vendorId,
      query,
      headers,
      early,
    }: {
      vendorId: string
      query: z.infer<typeof DailyQuery>
      headers: z.infer<typeof DailyHeaders>
      early?: Promise<string | undefined> | undefined
    },
    ctx: ApiContext,
  ): Promise<Json | undefined> {
    const company = await findCompanyCalendar(vendorId)
    if (!company) throw new Problem('not_found', 'This company no longer exists.')
    const range = dailyRange(query, company)
    const revision = await (early ?? readRevision(vendorId))
    const { json, tag } = await readDaily(company, range, revision)
    if (failsIfMatch(headers['If-Match'], tag)) throw preconditionFailed()
    ctx.state.fields.push('ETag', tag, 'Cache-Control', 'private, no-cache')
    if (matchesNone(headers['If-None-Match'], tag)) {
      ctx.status = 304
      return undefined
    }
    return json
  }

  return [
    route({
      ...DAILY,
      path: '/v1/analytics/:vendorId/daily',
      operationId: 'readDaily',
      summary: 'Read the daily figures of a company',
      by: accessToken('analytics:read', ({ vendorId }) => readRevision(vendorId)),
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
