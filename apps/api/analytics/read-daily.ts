import { z } from 'zod'
import { failsIfMatch, matchesNone } from '#shared/http/entity-tag.ts'
import { accessToken } from '../access-tokens/access.ts'
import { type Json, preconditionFailed, route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { canRead } from '../people/access.ts'
import { Problem } from '../problems/problems.ts'
import { isDate } from './calendar.ts'
import type { FindCompanyCalendar } from './company-calendar.ts'
import { DailyAnalytics, type DailyReads, dailyRange } from './daily.ts'

const dateParameter = (description: string) =>
  z
    .string()
    .refine(isDate, 'must be a date, YYYY-MM-DD')
    .optional()
    .meta({ format: 'date', description: `${description} A date in the company's time zone, inclusive.` })

const DailyQuery = z.strictObject({
  from: dateParameter('The first day, at most 365 days before `to`. Default: 29 days before `to`.'),
  to: dateParameter('The last day; defaults to today.'),
})

/** Conditional requests (RFC 9110 §13.1). */
const DailyHeaders = z.object({
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
export const readDailyRoute = route({
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
export const readDailyInWorkspaceRoute = route({
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
