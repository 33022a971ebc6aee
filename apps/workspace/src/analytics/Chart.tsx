import { useEffect, useRef, useState } from 'react'
import type { DailyAnalytics, Day, Metric } from '../api/contract.ts'
import { dateLong, METRIC_NAMES, metricText } from './format.ts'
import { createPlot, type Plot } from './plot.ts'

export interface ChartProps {
  daily: DailyAnalytics
  /** Drawn as a line, day beside day. */
  before: DailyAnalytics | undefined
  metric: Metric
}

/**
 * The days of one metric as bars. The slider under it, which is seen only while it has the focus, goes through the
 * days by keyboard and reads them out.
 */
export function Chart({ daily, before, metric }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot>(undefined)
  const [index, setIndex] = useState<number>()
  const day = index === undefined ? undefined : daily.days[index]

  useEffect(() => {
    const drawn = createPlot(place.current as HTMLDivElement, { daily, before, metric, onPoint: setIndex })
    plot.current = drawn
    return () => drawn.destroy()
  }, [daily, before, metric])

  const at = index ?? daily.days.length - 1
  const earlier = before?.days[at]
  const text = [daily.days[at] as Day, ...(earlier ? [earlier] : [])]
    .map((each) => said(each, metric, daily.currency))
    .join('; ')

  function choose(next: number): void {
    setIndex(next)
    plot.current?.point(next)
  }

  return (
    <figure className="chart">
      <figcaption className="chart-head">
        <p className="chart-readout" aria-hidden="true">
          {day ? text : `${METRIC_NAMES[metric]} per day`}
        </p>
        <ul className="legend">
          <Mark of="final">Final</Mark>
          <Mark of="provisional">Provisional: can change for 72 hours</Mark>
          <Mark of="missing">Not reported</Mark>
          {before && <Mark of="before">Previous period</Mark>}
        </ul>
      </figcaption>
      <div className="chart-box">
        <div className="chart-place" ref={place} aria-hidden="true" />
        {daily.days.every(({ status }) => status === 'missing') && (
          <p className="chart-empty">Nothing was reported in this range.</p>
        )}
        <input
          className="chart-slider"
          type="range"
          aria-label={`${METRIC_NAMES[metric]}, day by day`}
          aria-valuetext={text}
          min={0}
          max={daily.days.length - 1}
          value={at}
          onChange={(event) => choose(Number(event.target.value))}
          onFocus={() => choose(at)}
        />
      </div>
    </figure>
  )
}

const Mark = ({ of, children }: { of: string; children: string }) => (
  <li>
    <span className={`day-mark day-mark-${of}`} aria-hidden="true" />
    {children}
  </li>
)

function said(day: Day, metric: Metric, currency: string): string {
  const value = day[metric]
  const words =
    value === null
      ? 'not reported'
      : `${metricText(metric, value, currency)} ${METRIC_NAMES[metric].toLowerCase()}`
  return `${dateLong(day.date)}: ${words}${day.status === 'provisional' ? ', provisional' : ''}`
}
