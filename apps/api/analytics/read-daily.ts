import { z } from 'zod'
import { failsIfMatch, matchesNone } from '#shared/http/entity-tag.ts'
import { RANGE_MAX_DAYS } from '#shared/rules/ranges.ts'
import { accessToken } from '../access-tokens/access.ts'
import { preconditionFailed, route, type SerializedJson } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { canView } from '../people/access.ts'
import { type InputError, Problem } from '../problems/problems.ts'
import { addDays, type DateRange, daysBetween, isDate } from './calendar.ts'
import type { CompanyCalendar, FindCompanyCalendar } from './company-calendar.ts'
import { DailyAnalytics, type DailyReads } from './daily-analytics.ts'

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
    200: { description: 'The figures.', schema: DailyAnalytics, headers: CONDITIONAL },
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
  access: accessToken('analytics:read', ({ vendorId }, { dailyReads }: DailyNeeds) =>
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
  access: canView,
  handle,
})

async function handle(
  {
    vendorId,
    query,
    headers,
    prefetched,
  }: {
    vendorId: string
    query: z.infer<typeof DailyQuery>
    headers: z.infer<typeof DailyHeaders>
    prefetched?: Promise<string | undefined> | undefined
  },
  { findCompanyCalendar, dailyReads: { readRevision, readDaily } }: DailyNeeds,
  ctx: ApiContext,
): Promise<SerializedJson | undefined> {
  const company = await findCompanyCalendar(vendorId)
  if (!company) throw new Problem('not_found', 'This company no longer exists.')
  const range = dailyRange(query, company)
  const revision = await (prefetched ?? readRevision(vendorId))
  const { json, tag } = await readDaily(company, range, revision)
  if (failsIfMatch(headers['If-Match'], tag)) throw preconditionFailed()
  ctx.state.fields.push('ETag', tag, 'Cache-Control', 'private, no-cache')
  if (matchesNone(headers['If-None-Match'], tag)) {
    ctx.status = 304
    return undefined
  }
  return json
}

const FIRST_DATE = '0001-01-01'

/** @throws Problem invalid_input if the range is reversed, ends after today or is too long. */
function dailyRange(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  { today, recent }: CompanyCalendar,
): DateRange {
  if (from === undefined && to === undefined) return recent
  const last = to ?? today
  const first = from ?? addDays(last, daysBetween(recent.to, recent.from))
  const errors: InputError[] = []
  if (last > today) errors.push({ pointer: '?to', detail: `must not be after today, ${today}` })
  if (first > last) errors.push({ pointer: '?from', detail: `must not be after ${last}` })
  // ISO 8601 has a year 0; Postgres does not.
  if (first < FIRST_DATE)
    errors.push({ pointer: '?to', detail: `must leave room for 30 days after ${FIRST_DATE}` })
  if (daysBetween(first, last) >= RANGE_MAX_DAYS) {
    errors.push({ pointer: '?from', detail: `must be less than ${RANGE_MAX_DAYS} days before ${last}` })
  }
  if (errors.length > 0) throw new Problem('invalid_input', 'The date range is invalid.', { errors })
  return { from: first, to: last }
}
