import { z } from 'zod'
import { entityTag } from '#shared/http/entity-tag.ts'
import { createBatcher } from '#shared/process/batcher.ts'
import { within } from '#shared/process/within.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { vendorId } from '../accounts/actor.ts'
import type { FairQueue } from '../http/fair-queue.ts'
import { instant } from '../http/instant.ts'
import { SerializedJson } from '../http/route.ts'
import { unavailable } from '../problems/problems.ts'
import { addDays, type DateRange } from './calendar.ts'
import type { CompanyCalendar } from './company-calendar.ts'
import { type DayFigures, mayBeDistributed, readRevisions, readStoredDays, type StoredDays } from './store.ts'

const date = z.iso.date().meta({ description: "A date in the company's time zone." })
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

const ANSWERS_LIMIT_BYTES = 16 * 1_024 * 1_024
const REVISIONS_PER_QUERY = 500
/** Leaves pool connections to other requests. */
const QUERY_CONCURRENCY = 3
const REVISION_WAIT_MS = 2_000
const METRICS = ['impressions', 'clicks', 'orders', 'unitsSold', 'revenueMinor', 'boostSpendMinor'] as const
type Metric = (typeof METRICS)[number]
const MISSING = forEachMetric(() => null)

/** The answer of a daily read, and its entity tag. */
export interface DailyAnswer {
  json: SerializedJson
  tag: string
}

export interface DailyReads {
  /** Reads the revision of a company's days, which changes whenever they do. */
  readRevision(vendorId: string): Promise<string | undefined>
  /**
   * Reads a range. `revision` must have been read during the request. A cached answer is returned only if it
   * has this revision.
   */
  readDaily(company: CompanyCalendar, range: DateRange, revision: string | undefined): Promise<DailyAnswer>
}

/**
 * @param parts.turns lets companies read days in turn, so that many ranges of one do not hold up others.
 * @param parts.revision_ms what reading a revision may take. Default: 2 s.
 */
export function createDailyReads(parts: {
  db: Database
  turns: FairQueue
  revision_ms?: number | undefined
}): DailyReads {
  const { db, turns, revision_ms = REVISION_WAIT_MS } = parts
  interface CachedAnswer extends DailyAnswer {
    revision: string | undefined
  }
  let revisionReader: Promise<(vendorId: string) => Promise<string | undefined>> | undefined
  const cache = new Map<string, CachedAnswer>()
  let size_bytes = 0

  function remember(key: string, answer: CachedAnswer): void {
    forget(key)
    cache.set(key, answer)
    size_bytes += answer.json.bytes.length
    for (const oldest of cache.keys()) {
      if (size_bytes <= ANSWERS_LIMIT_BYTES) return
      forget(oldest)
    }
  }

  function forget(key: string): void {
    const answer = cache.get(key)
    if (answer && cache.delete(key)) size_bytes -= answer.json.bytes.length
  }

  async function readRevision(vendorId: string): Promise<string | undefined> {
    revisionReader ??= createRevisionReader(db).catch((error) => {
      revisionReader = undefined
      throw error
    })
    const revisionRead = revisionReader.then((read) => read(vendorId)).then((revision) => ({ revision }))
    const result = await within(revision_ms, revisionRead)
    if (!result) throw unavailable('The database takes too long. Try again shortly.')
    return result.revision
  }

  async function readDaily(
    company: CompanyCalendar,
    range: DateRange,
    revision: string | undefined,
  ): Promise<DailyAnswer> {
    const { vendorId, timezone, currency, finalThrough } = company
    const key = `${vendorId} ${range.from} ${range.to} ${finalThrough} ${timezone} ${currency}`
    const cachedAnswer = cache.get(key)
    if (cachedAnswer?.revision === revision && cachedAnswer) return cachedAnswer
    const storedDays = await turns(vendorId, () => readStoredDays(db, { vendorId, ...range }))
    const json = new SerializedJson(dailyAnalytics(company, range, storedDays))
    const answer = { revision: storedDays.revision, json, tag: entityTag(json.bytes) }
    remember(key, answer)
    return answer
  }

  return { readRevision, readDaily }
}

/** Asks for many companies at once, unless one machine that is away would then fail all of them. */
async function createRevisionReader(db: Database) {
  const readMany = (vendorIds: string[]) => readRevisions(db, vendorIds)
  const size = (await mayBeDistributed(db)) ? 1 : REVISIONS_PER_QUERY
  return createBatcher(readMany, size, { concurrency: QUERY_CONCURRENCY })
}

function dailyAnalytics(
  { vendorId, timezone, currency, finalThrough }: CompanyCalendar,
  { from, to }: DateRange,
  { days: storedDays, newestEvent_ms }: StoredDays,
): DailyAnalytics {
  const figuresByDate = new Map(storedDays.map((figures) => [figures.date, figures]))
  const days: DailyAnalytics['days'] = []
  for (let date = from; date <= to; date = addDays(date, 1)) {
    const figures = figuresByDate.get(date)
    const status = !figures ? 'missing' : date <= finalThrough ? 'final' : 'provisional'
    days.push({ date, status, ...(figures ?? MISSING) })
  }
  const dataThrough = newestEvent_ms === undefined ? null : new Date(newestEvent_ms).toISOString()
  const range = { from, to, timezone }
  return { vendorId, range, currency, dataThrough, totals: sumDays(storedDays), days }
}

/** Sums of up to 366 numbers below 2^53 can exceed it, so BigInt adds them and they are written exactly. */
const sumDays = (days: readonly DayFigures[]): DailyAnalytics['totals'] =>
  forEachMetric((metric) => rawJSON(String(days.reduce((sum, figures) => sum + BigInt(figures[metric]), 0n))))

function forEachMetric<Value>(value: (metric: Metric) => Value): Record<Metric, Value> {
  return Object.fromEntries(METRICS.map((metric) => [metric, value(metric)])) as Record<Metric, Value>
}

/** Returns what JSON.stringify writes as exactly this number. TypeScript does not know the function yet. */
const { rawJSON } = JSON as typeof JSON & { rawJSON: (text: string) => number }
