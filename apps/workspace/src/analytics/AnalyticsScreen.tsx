import { type ComponentType, useState } from 'react'
import { useSearchParams } from 'wouter'
import { useDailyAnalytics } from '../api/analytics.ts'
import { type DailyAnalytics, METRICS, type Metric } from '../api/contract.ts'
import { useCompany } from '../shell/company.ts'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { downloadCsv } from '../ui/csv.ts'
import { DownloadIcon } from '../ui/icons.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { useLater } from '../ui/later.ts'
import { ScopeName } from '../ui/ScopeName.tsx'
import { Chart } from './Chart.tsx'
import { csvOf } from './csv.ts'
import { DailyTable } from './DailyTable.tsx'
import { changeText, dateLong, dateShort, METRIC_NAMES, reportedDays, totalText } from './format.ts'
import { RangeChoice } from './RangeChoice.tsx'
import { DEFAULT_DAYS, lastDays, rangeBefore, rangeOf, todayIn } from './range.ts'
import './analytics.css'

export interface AnalyticsScreenProps {
  /** In place of the figures while no event has been reported. */
  FirstEvent: ComponentType<{ timezone: string }>
}

export default function AnalyticsScreen({ FirstEvent }: AnalyticsScreenProps) {
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
      <Analytics FirstEvent={FirstEvent} />
    </Page>
  )
}

function Analytics({ FirstEvent }: AnalyticsScreenProps) {
  const { vendorId } = useCompany()
  const [search] = useSearchParams()
  const chosen = rangeOf(search)
  // The default range also tells the company's time zone, without which "today" is not known.
  const standard = useDailyAnalytics(vendorId, undefined)
  const timezone = standard.data?.range.timezone
  const own = typeof chosen === 'number' ? timezone && lastDays(chosen, todayIn(timezone)) : chosen
  const other = useDailyAnalytics(vendorId, chosen === DEFAULT_DAYS ? null : own || null)
  const query = chosen === DEFAULT_DAYS ? standard : other.data || !standard.error ? other : standard
  const comparing = search.has('compare')
  const shown = query.data?.range
  const before = useDailyAnalytics(vendorId, comparing && shown ? rangeBefore(shown) : null)
  if (standard.data?.dataThrough === null) return <FirstEvent timezone={standard.data.range.timezone} />
  return (
    <>
      <RangeChoice
        chosen={chosen}
        comparing={comparing}
        shown={shown}
        today={timezone && todayIn(timezone)}
      />
      <Loaded query={query} skeleton={<AnalyticsSkeleton />}>
        {(daily) => (
          <Daily
            daily={daily}
            before={comparing && !before.isPlaceholderData ? before.data : undefined}
            pending={query.isPlaceholderData}
          />
        )}
      </Loaded>
    </>
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
  const later = useLater()
  return (
    <div className={pending ? 'daily daily-pending' : 'daily'} aria-busy={pending}>
      <Coverage daily={daily} before={before} />
      <Totals daily={daily} before={before} metric={metric} onChoose={setMetric} />
      <Chart daily={daily} before={before} metric={metric} />
      <div className="daily-foot">
        <DataThrough daily={daily} />
        <Button
          icon={<DownloadIcon />}
          onClick={() => downloadCsv(`analytics_${vendorId}_${range.from}_${range.to}.csv`, csvOf(daily))}
        >
          Download CSV
        </Button>
      </div>
      {later && <DailyTable daily={daily} />}
    </div>
  )
}

/** What the totals are totals of. */
function Coverage({ daily, before }: DailyProps) {
  const provisional = daily.days.filter(({ status }) => status === 'provisional').length
  return (
    <p className="coverage small">
      <span className="strong">{rangeText(daily.range)}</span>: {reportedOf(daily)}
      {provisional > 0 && `, ${provisional} of them provisional`}.
      {before && (
        <>
          {' '}
          Compared with {rangeText(before.range)}: {reportedOf(before)}.
          {daily.range.to === todayIn(daily.range.timezone) &&
            ' Today is not over, so it counts only so far.'}
        </>
      )}
    </p>
  )
}

const rangeText = ({ from, to }: DailyAnalytics['range']): string =>
  from === to
    ? dateLong(from)
    : `${dateShort(from)} ${from.slice(0, 4)} to ${dateShort(to)} ${to.slice(0, 4)}`

const reportedOf = ({ days }: DailyAnalytics): string =>
  `${reportedDays(days)} of ${days.length === 1 ? '1 day' : `${days.length} days`} reported`

interface TotalsProps extends DailyProps {
  metric: Metric
  onChoose: (metric: Metric) => void
}

function Totals({ daily, before, metric, onChoose }: TotalsProps) {
  return (
    <fieldset className="totals">
      <legend className="off-screen">Totals; choose what the chart shows</legend>
      {METRICS.map((each) => (
        <label key={each} className="total">
          <input
            type="radio"
            name="metric"
            value={each}
            checked={metric === each}
            onChange={() => onChoose(each)}
          />
          <span className="small quiet">{METRIC_NAMES[each]}</span>
          <span className="total-value">{totalText(each, daily)}</span>
          {before && (
            <span className="total-before">
              <span>{changeText(each, daily, before)}</span> <span>from {totalText(each, before)}</span>
            </span>
          )}
        </label>
      ))}
    </fieldset>
  )
}

function DataThrough({ daily: { dataThrough, range } }: { daily: DailyAnalytics }) {
  if (!dataThrough) return null
  const at = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: range.timezone,
  })
  return (
    <p className="small quiet">
      Newest event: <time dateTime={dataThrough}>{at.format(new Date(dataThrough))}</time>. All times are in{' '}
      {range.timezone}.
    </p>
  )
}

const AnalyticsSkeleton = () => (
  <div className="daily" aria-hidden="true">
    <p className="coverage small">&nbsp;</p>
    <div className="totals">
      {METRICS.map((metric) => (
        <div key={metric} className="total total-skeleton" />
      ))}
    </div>
    <div className="chart chart-skeleton" />
  </div>
)
