import { useState } from 'react'
import type { DailyAnalytics, Day, Metric } from '../api/contract.ts'
import { DAY_GROUNDS, type DayKind, DayMark } from './DayMark.tsx'
import { dateLong, dateShort, METRIC_NAMES, metricShort, metricText } from './format.ts'

export interface ChartProps {
  daily: DailyAnalytics
  /** Drawn as a line, day beside day. */
  before: DailyAnalytics | undefined
  metric: Metric
}

/**
 * The days of one metric as bars. The slider below, visible only while it is focused, steps through the days
 * by keyboard and reads them out.
 */
export function Chart({ daily, before, metric }: ChartProps) {
  // By its date: another range has other days.
  const [date, setDate] = useState<string>()
  const { days, currency } = daily
  const index = days.findIndex((day) => day.date === date)
  const at = index < 0 ? days.length - 1 : index
  const earlier = before?.days[at]
  const text = [days[at] as Day, ...(earlier ? [earlier] : [])]
    .map((item) => dayText(item, metric, currency))
    .join('; ')
  return (
    <figure className="chart">
      <figcaption className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1.5 pb-2">
        <p className="chart-readout min-h-[2lh] basis-full font-strong xl:min-h-[1lh]" aria-hidden="true">
          {index < 0 ? `${METRIC_NAMES[metric]} per day` : text}
        </p>
        <ul className="flex flex-wrap gap-x-4.5 gap-y-0.5 text-sm text-ink-2">
          <Mark of="final">Final</Mark>
          <Mark of="provisional">Provisional: can change for 72 hours</Mark>
          <Mark of="missing">Not reported</Mark>
          {before && <Mark of="before">Previous period</Mark>}
        </ul>
      </figcaption>
      <div className="relative">
        <Bars daily={daily} before={before} metric={metric} at={index} onPoint={setDate} />
        {days.every(({ status }) => status === 'missing') && (
          <p className="pointer-events-none absolute inset-0 grid place-items-center font-medium">
            Nothing was reported in this range.
          </p>
        )}
        <input
          className="chart-slider pointer-events-none absolute inset-x-13 end-5 -bottom-1.5 m-0 accent-link opacity-0 focus-visible:opacity-100"
          type="range"
          aria-label={`${METRIC_NAMES[metric]}, day by day`}
          aria-valuetext={text}
          min={0}
          max={days.length - 1}
          value={at}
          onChange={(event) => setDate(days[Number(event.target.value)]?.date)}
          onFocus={() => setDate(days[at]?.date)}
          onBlur={() => setDate(undefined)}
        />
      </div>
    </figure>
  )
}

interface BarsProps extends ChartProps {
  /** Which day is pointed at. -1: none. */
  at: number
  onPoint: (date: string | undefined) => void
}

const LABELS_MOST = 16
const LABEL_STEPS = [1, 2, 3, 7, 14, 28, 56, 91]

const HERE = 'bg-linear-to-b from-ink to-ink bg-size-[2px_100%] bg-center bg-no-repeat'

function Bars({ daily: { days, currency }, before, metric, at, onPoint }: BarsProps) {
  const figures = [...days, ...(before?.days ?? [])].flatMap((day) => day[metric] ?? [])
  const most = Math.max(1, 1.05 * Math.max(0, ...figures))
  const share = (value: number | null) => `${(100 * (value ?? most)) / most}%`
  const step = LABEL_STEPS.find((size) => days.length / size <= LABELS_MOST) ?? days.length
  return (
    <div className="relative mt-3 mr-5 mb-8.5 ml-13 h-63.5 text-xs text-muted" aria-hidden="true">
      {figures.length > 0 &&
        chooseGridLines(most).map((value) => (
          <p
            key={value}
            className="absolute inset-x-0 border-b border-line"
            style={{ insetBlockEnd: share(value) }}
          >
            <span className="absolute end-full -bottom-2.5 me-1">{metricShort(metric, value, currency)}</span>
          </p>
        ))}
      <ol className="absolute inset-0 flex" onPointerLeave={() => onPoint(undefined)}>
        {days.map((day, index) => (
          <li
            key={day.date}
            className={`relative flex flex-1 items-end justify-center ${index === at ? HERE : ''}`}
            onPointerEnter={() => onPoint(day.date)}
          >
            <span
              className={`forced-color-adjust-none [print-color-adjust:exact] ${DAY_GROUNDS[day.status]} ${day.status === 'missing' ? 'w-full' : 'w-3/4 max-w-12'}`}
              data-status={day.status}
              style={{ blockSize: share(day[metric]) }}
            />
            {index % step === 0 && (
              <span
                className={`absolute top-full whitespace-nowrap ${index % (3 * step) ? 'max-lg:hidden' : ''}`}
              >
                {dateShort(day.date)}
              </span>
            )}
          </li>
        ))}
      </ol>
      {before && (
        <svg
          className="pointer-events-none absolute size-full fill-none stroke-(--chart-before) stroke-2"
          viewBox={`0 0 ${days.length} ${most}`}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          <path
            vectorEffect="non-scaling-stroke"
            d={drawLine(
              before.days.map((day) => day[metric]),
              most,
            )}
          />
        </svg>
      )}
    </div>
  )
}

/** Round figures up to the highest, at most six of them. */
function chooseGridLines(most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(most / 5))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => most / size <= 6) ?? most
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, line) => line * step)
}

/** Through the middle of each day, with a gap where nothing is known. */
const drawLine = (values: readonly (number | null)[], most: number): string =>
  values
    .map(
      (value, day) =>
        value !== null && `${(values[day - 1] ?? null) === null ? 'M' : 'L'}${day + 0.5},${most - value}`,
    )
    .filter(Boolean)
    .join('')

const Mark = ({ of, children }: { of: DayKind; children: string }) => (
  <li className="flex items-center gap-1.75">
    <DayMark of={of} />
    {children}
  </li>
)

function dayText(day: Day, metric: Metric, currency: string): string {
  const value = day[metric]
  const words =
    value === null
      ? 'not reported'
      : `${metricText(metric, value, currency)} ${METRIC_NAMES[metric].toLowerCase()}`
  return `${dateLong(day.date)}: ${words}${day.status === 'provisional' ? ', provisional' : ''}`
}
