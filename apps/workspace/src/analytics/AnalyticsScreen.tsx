import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useDailyAnalytics } from '../api/analytics.ts'
import { type DailyAnalytics, METRICS, type Metric } from '../api/contract.ts'
import { useCompany } from '../shell/company.ts'
import { NotForYou } from '../shell/NotForYou.tsx'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { DownloadIcon } from '../ui/icons.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { Chart } from './Chart.tsx'
import { csvOf, download } from './csv.ts'
import { DailyTable } from './DailyTable.tsx'
import { METRIC_NAMES, metricText } from './format.ts'
import { RangeChoice } from './RangeChoice.tsx'
import { DEFAULT_DAYS, lastDays, rangeOf, todayIn } from './range.ts'
import './analytics.css'

export default function AnalyticsScreen() {
  const company = useCompany()
  return (
    <Page
      title="Analytics"
      section="Company"
      lede="Day by day, as your systems reported it and as analytics:read returns it."
    >
      {company.mayManage ? (
        <Analytics />
      ) : (
        <NotForYou what="Analytics">Figures of the whole company are for those who manage it.</NotForYou>
      )}
    </Page>
  )
}

function Analytics() {
  const { vendorId } = useCompany()
  const [search] = useSearchParams()
  const chosen = rangeOf(search)
  // The default range also tells the company's time zone, without which "today" is not known.
  const standard = useDailyAnalytics(vendorId, undefined)
  const timezone = standard.data?.range.timezone
  const own = typeof chosen === 'number' ? timezone && lastDays(chosen, todayIn(timezone)) : chosen
  const other = useDailyAnalytics(vendorId, chosen === DEFAULT_DAYS ? null : own || null)
  const query = chosen === DEFAULT_DAYS ? standard : other.data || !standard.error ? other : standard
  return (
    <>
      <RangeChoice chosen={chosen} shown={query.data?.range} today={timezone && todayIn(timezone)} />
      <Loaded query={query} skeleton={<AnalyticsSkeleton />}>
        {(daily) => <Daily daily={daily} pending={query.isPlaceholderData} />}
      </Loaded>
    </>
  )
}

function Daily({ daily, pending }: { daily: DailyAnalytics; pending: boolean }) {
  const [metric, setMetric] = useState<Metric>('impressions')
  const { range, vendorId } = daily
  return (
    <div className={pending ? 'daily daily-pending' : 'daily'} aria-busy={pending}>
      <Totals daily={daily} metric={metric} onChoose={setMetric} />
      <Chart daily={daily} metric={metric} />
      <div className="daily-foot">
        <DataThrough daily={daily} />
        <Button
          icon={<DownloadIcon />}
          onClick={() => download(`analytics_${vendorId}_${range.from}_${range.to}.csv`, csvOf(daily))}
        >
          Download CSV
        </Button>
      </div>
      <DailyTable daily={daily} />
    </div>
  )
}

function Totals({
  daily,
  metric,
  onChoose,
}: {
  daily: DailyAnalytics
  metric: Metric
  onChoose: (metric: Metric) => void
}) {
  return (
    <fieldset className="totals">
      <legend className="off-screen">Totals of the range; choose what the chart shows</legend>
      {METRICS.map((each) => (
        <label key={each} className="total">
          <input
            type="radio"
            name="metric"
            value={each}
            checked={metric === each}
            onChange={() => onChoose(each)}
          />
          <span className="total-name">{METRIC_NAMES[each]}</span>
          <span className="total-value">{metricText(each, daily.totals[each], daily.currency)}</span>
        </label>
      ))}
    </fieldset>
  )
}

function DataThrough({ daily: { dataThrough, range } }: { daily: DailyAnalytics }) {
  if (!dataThrough)
    return <p className="small quiet">No event has been reported yet. Days are those of {range.timezone}.</p>
  const at = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: range.timezone,
  })
  return (
    <p className="small quiet">
      The newest event is of <time dateTime={dataThrough}>{at.format(new Date(dataThrough))}</time>. Days and
      times are those of {range.timezone}.
    </p>
  )
}

const AnalyticsSkeleton = () => (
  <div className="daily" aria-hidden="true">
    <div className="totals">
      {METRICS.map((metric) => (
        <div key={metric} className="total total-skeleton" />
      ))}
    </div>
    <div className="chart chart-skeleton" />
  </div>
)
