import { useState } from 'react'
import { type DailyAnalytics, type Day, METRICS } from '../api/contract.ts'
import { Button } from '../ui/Button.tsx'
import { dateParts, METRIC_NAMES, metricText } from './format.ts'

const STATUS_WORDS: Record<Day['status'], string> = {
  final: 'Final',
  provisional: 'Provisional',
  missing: 'Not reported',
}

const SCROLLED =
  'daily-table relative overflow-x-auto [&_.day-mark]:me-2 [&_:is(th,td)]:py-2 [&_:is(th,td)]:ps-0 [&_:is(th,td)]:pe-4 [&_:is(th,td)]:whitespace-nowrap [&_tbody_th]:sticky [&_tbody_th]:start-0 [&_tbody_th]:bg-paper'

/** A longer range shows the rest on request. */
const DAYS_AT_FIRST = 31

/** The chart's figures as text, newest day first. */
export function DailyTable({ daily }: { daily: DailyAnalytics }) {
  const [all, setAll] = useState(false)
  const days = daily.days.toReversed()
  const shown = all ? days : days.slice(0, DAYS_AT_FIRST)
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard. */}
      <section className={SCROLLED} aria-label="Day by day" tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Day</th>
              <th scope="col">Status</th>
              {METRICS.map((metric) => (
                <th key={metric} scope="col" className="number">
                  {METRIC_NAMES[metric]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((day) => (
              <DayRow key={day.date} day={day} currency={daily.currency} />
            ))}
          </tbody>
        </table>
      </section>
      {shown.length < days.length && (
        <Button className="justify-self-start" onClick={() => setAll(true)}>
          Show all {days.length} days
        </Button>
      )}
    </>
  )
}

function DayRow({ day, currency }: { day: Day; currency: string }) {
  const { weekday, short, year } = dateParts(day.date)
  return (
    <tr className={day.status === 'missing' ? 'text-ink-3' : undefined}>
      <th scope="row">
        <time dateTime={day.date}>
          <span className="max-phone:hidden">{weekday} </span>
          {short}
          <span className="max-phone:hidden"> {year}</span>
        </time>
      </th>
      <td>
        <span className={`day-mark day-mark-${day.status}`} aria-hidden="true" />
        <span className="max-phone:off-screen">{STATUS_WORDS[day.status]}</span>
      </td>
      {METRICS.map((metric) => (
        <td key={metric} className="number">
          {day[metric] === null ? (
            <span className="quiet">–</span>
          ) : (
            metricText(metric, day[metric], currency)
          )}
        </td>
      ))}
    </tr>
  )
}
