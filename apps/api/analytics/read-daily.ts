import type { z } from 'zod'
import { failsIfMatch, matchesNone } from '#shared/http/entity-tag.ts'
import { accessToken } from '../access-tokens/access.ts'
import { type Json, preconditionFailed, route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { canRead } from '../people/access.ts'
import { Problem } from '../problems/problems.ts'
import type { FindCompanyCalendar } from './company-calendar.ts'
import { type DailyReads, dailyRange } from './daily.ts'
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

interface DailyNeeds {
  findCompanyCalendar: FindCompanyCalendar
  dailyReads: DailyReads
}

/** Reads the daily figures with an access token. */
export const readDaily = route({
  ...DAILY,
  path: '/v1/analytics/:vendorId/daily',
  operationId: 'readDaily',
  summary: 'Read the daily figures of a company',
  by: accessToken('analytics:read', ({ vendorId }, { dailyReads }: DailyNeeds) =>
    dailyReads.readRevision(vendorId),
  ),
  handle,
})

/** Reads the same figures with a session. */
export const readDailyInWorkspace = route({
  ...DAILY,
  path: '/v1/vendor/:vendorId/analytics/daily',
  operationId: 'readDailyInWorkspace',
  summary: 'Read the daily figures in the workspace',
  by: canRead,
  handle,
})

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
  { findCompanyCalendar, dailyReads: { readRevision, readDaily } }: DailyNeeds,
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
