import { type ComponentType, useState } from 'react'
import { useClock } from '../api/company.ts'
import type { DailyAnalytics, Day, Metric } from '../api/contract.ts'
import { useDailyAnalytics } from '../api/resources.ts'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { ScopeName } from '../ui/DocsLink.tsx'
import { downloadCsv } from '../ui/download.ts'
import { DownloadIcon } from '../ui/icons.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { More } from '../ui/More.tsx'
import { useTimed } from '../ui/now.ts'
import { Skeleton } from '../ui/Skeleton.tsx'
import { useSearch } from '../ui/search.ts'
import { Time } from '../ui/Time.tsx'
import { Chart } from './Chart.tsx'
import { DayMark } from './DayMark.tsx'
import {
  changeText,
  dailyCsv,
  dateLong,
  dateParts,
  dateShort,
  METRIC_NAMES,
  METRICS,
  metricText,
  reportedDays,
  totalText,
} from './format.ts'
import { RangeChoice } from './RangeChoice.tsx'
import { chosenRange, DEFAULT_DAYS, lastDays, RANGE, rangeBefore } from './range.ts'

/** @param props.FirstEvent in place of the figures while no event has been reported. */
export default function AnalyticsScreen({ FirstEvent }: { FirstEvent: ComponentType }) {
  const [search] = useSearch(RANGE)
  const chosen = chosenRange(search)
  const today = useTimed(useClock().isoDate)
  const range = typeof chosen === 'number' ? lastDays(chosen, today) : chosen
  const query = useDailyAnalytics(chosen === DEFAULT_DAYS ? undefined : range)
  const comparing = search.compare !== ''
  const shown = query.data?.range
  const before = useDailyAnalytics(comparing && shown ? rangeBefore(shown) : null)
  const isEmpty = query.data?.dataThrough === null
  return (
    <Page
      title="Analytics"
      section="Company"
      lede={
        <>
          Day by day, as your systems reported it. Clients with <ScopeName scope="analytics:read" /> read the
          same figures.
        </>
      }
    >
      {!isEmpty && <RangeChoice chosen={chosen} comparing={comparing} shown={shown} today={today} />}
      <Loaded query={query} skeleton={<Skeleton lines={12} />}>
        {(daily) =>
          isEmpty ? (
            <FirstEvent />
          ) : (
            <Daily
              daily={daily}
              before={comparing && !before.isPlaceholderData ? before.data : undefined}
              pending={query.isPlaceholderData}
            />
          )
        }
      </Loaded>
    </Page>
  )
}

interface DailyProps {
  daily: DailyAnalytics
  /** The range of the same length just before it, when that is wanted and known. */
  before: DailyAnalytics | undefined
}

function Daily({ daily, before, pending }: DailyProps & { pending: boolean }) {
  const [metric, setMetric] = useState<Metric>('impressions')
  const { range, vendorId } = daily
  return (
    <div
      className="grid grid-cols-1 gap-6 transition-opacity duration-160 aria-busy:opacity-45"
      aria-busy={pending}
    >
      <Coverage daily={daily} before={before} />
      <Totals daily={daily} before={before} metric={metric} onChoose={setMetric} />
      <Chart daily={daily} before={before} metric={metric} />
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        {daily.dataThrough && (
          <p className="text-sm text-muted">
            Newest event: <Time at={daily.dataThrough} />.
          </p>
        )}
        <Button
          icon={<DownloadIcon />}
          onClick={() => downloadCsv(`analytics_${vendorId}_${range.from}_${range.to}.csv`, dailyCsv(daily))}
        >
          Download CSV
        </Button>
      </div>
      <DailyTable daily={daily} />
    </div>
  )
}

/** What the totals are totals of. */
function Coverage({ daily, before }: DailyProps) {
  const { isoDate } = useClock()
  const provisional = daily.days.filter(({ status }) => status === 'provisional').length
  return (
    <p className="text-sm -mb-3 text-ink-2">
      <span className="font-strong">{rangeText(daily.range)}</span>: {formatReported(daily)}
      {provisional > 0 && `, ${provisional} of them provisional`}.
      {before && (
        <>
          {' '}
          Compared with {rangeText(before.range)}: {formatReported(before)}.
          {daily.range.to === isoDate(new Date()) && ' Today is not over yet.'}
        </>
      )}
    </p>
  )
}

const rangeText = ({ from, to }: DailyAnalytics['range']): string =>
  from === to
    ? dateLong(from)
    : `${dateShort(from)} ${from.slice(0, 4)} to ${dateShort(to)} ${to.slice(0, 4)}`

const formatReported = ({ days }: DailyAnalytics): string =>
  `${reportedDays(days)} of ${days.length === 1 ? '1 day' : `${days.length} days`} reported`

// A line between neighbours is the ground of the grid.
const TOTALS =
  'grid grid-cols-2 gap-px border-y border-line-strong bg-line forced-colors:bg-[CanvasText] sm:grid-cols-3 xl:grid-cols-6'

interface TotalsProps extends DailyProps {
  metric: Metric
  onChoose: (metric: Metric) => void
}

function Totals({ daily, before, metric, onChoose }: TotalsProps) {
  return (
    <fieldset className={TOTALS}>
      <legend className="sr-only">Totals; choose what the chart shows</legend>
      {METRICS.map((option) => (
        <label
          key={option}
          className="total relative grid min-h-19.5 cursor-pointer content-start gap-1 bg-paper px-3 pt-3.5 pb-3 hover:bg-sheet has-checked:bg-sheet has-checked:shadow-[inset_0_4px_0_var(--mark)] has-checked:outlined has-focus-visible:outline-2 has-focus-visible:-outline-offset-2 has-focus-visible:outline-ink"
        >
          <input
            className="covering"
            type="radio"
            name="metric"
            value={option}
            checked={metric === option}
            onChange={() => onChoose(option)}
          />
          <span className="text-sm text-muted">{METRIC_NAMES[option]}</span>
          <span className="wrap-anywhere text-lg font-strong tracking-tight">{totalText(option, daily)}</span>
          {before && reportedDays(before.days) > 0 && (
            <span className="flex flex-wrap gap-x-2 text-sm text-muted">
              <span className="font-strong text-ink">{changeText(option, daily, before)}</span>{' '}
              <span>from {totalText(option, before)}</span>
            </span>
          )}
        </label>
      ))}
    </fieldset>
  )
}

const STATUS_WORDS: Record<Day['status'], string> = {
  final: 'Final',
  provisional: 'Provisional',
  missing: 'Not reported',
}

const CELL = 'py-2 pe-4 whitespace-nowrap'

/** A longer range shows the rest on request. */
const DAYS_AT_FIRST = 31

/** The chart's figures as text, newest day first. */
function DailyTable({ daily }: { daily: DailyAnalytics }) {
  const [showsAll, setShowsAll] = useState(false)
  const days = daily.days.toReversed()
  const visibleDays = showsAll ? days : days.slice(0, DAYS_AT_FIRST)
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard. */}
      <section className="relative overflow-x-auto" aria-label="Day by day" tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              {['Day', 'Status', ...METRICS.map((metric) => METRIC_NAMES[metric])].map((name, column) => (
                <th key={name} scope="col" className={column < 2 ? CELL : `text-end ${CELL}`}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {visibleDays.map((day) => (
              <DayRow key={day.date} day={day} currency={daily.currency} />
            ))}
          </tbody>
        </table>
      </section>
      <More query={{ hasNextPage: visibleDays.length < days.length, fetchNextPage: () => setShowsAll(true) }}>
        Show all {days.length} days
      </More>
    </>
  )
}

function DayRow({ day, currency }: { day: Day; currency: string }) {
  const { weekday, short, year } = dateParts(day.date)
  return (
    <tr className={day.status === 'missing' ? 'text-muted' : undefined}>
      <th scope="row" className={`sticky start-0 bg-paper ${CELL}`}>
        <time dateTime={day.date}>
          <span className="max-sm:hidden">{weekday} </span>
          {short}
          <span className="max-sm:hidden"> {year}</span>
        </time>
      </th>
      <td className={CELL}>
        <DayMark of={day.status} />
        <span className="sr-only sm:not-sr-only sm:ps-2">{STATUS_WORDS[day.status]}</span>
      </td>
      {METRICS.map((metric) => (
        <td key={metric} className={`number ${CELL}`}>
          {day[metric] === null ? '–' : metricText(metric, day[metric], currency)}
        </td>
      ))}
    </tr>
  )
}
