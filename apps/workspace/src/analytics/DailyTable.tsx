import { type DailyAnalytics, type Day, METRICS } from '../api/contract.ts'
import { dateLong, METRIC_NAMES, metricText } from './format.ts'

const STATUS_WORDS: Record<Day['status'], string> = {
  final: 'Final',
  provisional: 'Provisional',
  missing: 'Not reported',
}

/** The chart's figures as text, newest day first. */
export function DailyTable({ daily }: { daily: DailyAnalytics }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard.
    <section className="daily-table" aria-label="Day by day" tabIndex={0}>
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
          {daily.days.toReversed().map((day) => (
            <tr key={day.date} className={`day-${day.status}`}>
              <th scope="row">
                <time dateTime={day.date}>{dateLong(day.date)}</time>
              </th>
              <td>
                <span className={`day-mark day-mark-${day.status}`} aria-hidden="true" />
                {STATUS_WORDS[day.status]}
              </td>
              {METRICS.map((metric) => (
                <td key={metric} className="number">
                  {day[metric] === null ? (
                    <span className="quiet">–</span>
                  ) : (
                    metricText(metric, day[metric], daily.currency)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
