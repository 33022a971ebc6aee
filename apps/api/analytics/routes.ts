import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { RequireAccessToken } from '../http/integrator.ts'
import type { Manager } from '../http/manager.ts'
import type { Access, Route } from '../http/route.ts'
import { createCompanyCalendars } from './companies.ts'
import { createDailyRead } from './daily.ts'
import { getDaily } from './get-daily.ts'
import { postEvents } from './post-events.ts'

export interface AnalyticsDependencies {
  db: Database
  clock: Clock
  manager: Access<Manager>
  accessToken: RequireAccessToken
  /** Counts events by client. */
  eventLimit: RateLimit
}

/** The daily figures, read with an integrator's access token or a person's session, and the events behind them. */
export function createAnalyticsRoutes(dependencies: AnalyticsDependencies): Route[] {
  const { db, clock, manager, accessToken, eventLimit } = dependencies
  const findCompanyCalendar = createCompanyCalendars({ db, clock })
  const daily = { findCompanyCalendar, readDaily: createDailyRead({ db }) }
  return [
    getDaily(
      { ...daily, by: accessToken('analytics:read') },
      {
        path: '/v1/analytics/:vendorId/daily',
        operationId: 'readDaily',
        summary: 'Read the daily figures of a company',
      },
    ),
    postEvents({ db, clock, findCompanyCalendar, eventLimit, by: accessToken('analytics:write') }),
    getDaily(
      { ...daily, by: manager },
      {
        path: '/v1/vendor/:vendorId/analytics/daily',
        operationId: 'readDailyInWorkspace',
        summary: 'Read the daily figures in the workspace',
      },
    ),
  ]
}
