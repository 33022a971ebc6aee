import { failsIfMatch, matchesNone } from '#shared/entity-tag.ts'
import { Problem } from '#shared/problems.ts'
import { type Access, preconditionFailed, type Route, type RouteDescription, route } from '../http/route.ts'
import type { FindCompanyCalendar } from './companies.ts'
import { dailyRange, type ReadDaily } from './daily.ts'
import { DailyAnalytics, DailyHeaders, DailyQuery } from './schemas.ts'

export interface DailyDependencies {
  by: Access<{ vendorId: string }>
  findCompanyCalendar: FindCompanyCalendar
  readDaily: ReadDaily
}

/** The daily figures of the path's company, for whoever `by` admits. */
export const getDaily = (
  { by, findCompanyCalendar, readDaily }: DailyDependencies,
  about: Pick<RouteDescription, 'path' | 'operationId' | 'summary'>,
): Route =>
  route({
    ...about,
    method: 'get',
    tag: 'Analytics',
    description: 'Without parameters: the 30 days that end today. At most 366 days.',
    by,
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
    async handle({ vendorId, query, headers }, ctx) {
      const company = await findCompanyCalendar(vendorId)
      if (!company) throw new Problem('not_found', 'There is no such company any more.')
      const { body, tag } = await readDaily(company, dailyRange(query, company))
      if (failsIfMatch(headers['If-Match'], tag)) throw preconditionFailed()
      ctx.res.setHeader('ETag', tag)
      ctx.res.setHeader('Cache-Control', 'private, no-cache')
      if (matchesNone(headers['If-None-Match'], tag)) {
        ctx.status = 304
      } else {
        ctx.res.setHeader('Content-Type', 'application/json; charset=utf-8')
        ctx.body = body
      }
      return undefined
    },
  })
