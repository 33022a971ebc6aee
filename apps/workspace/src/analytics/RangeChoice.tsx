import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { DayInput } from '../ui/DayInput.tsx'
import { type DateRange, DEFAULT_DAYS, PRESETS, type Preset, rangeError } from './range.ts'

export interface RangeChoiceProps {
  chosen: Preset | DateRange
  /** Whether the range before is shown beside it. */
  comparing: boolean
  /** The range that is on the page. */
  shown: DateRange | undefined
  /** Where the company is. */
  today: string
}

const presetName = (days: Preset): string => (days === 366 ? '12 months' : `${days} days`)

/** Which days: a number of them back from today, or from one date to another. It stays in the address. */
export function RangeChoice({ chosen, comparing, shown, today }: RangeChoiceProps) {
  const [search, setSearch] = useSearchParams()
  const kept: Record<string, string> = comparing ? { compare: '' } : {}
  const own = useOwnRange({ chosen, shown, today, kept })
  return (
    <div className="range">
      <fieldset className="segments">
        <legend className="off-screen">Range</legend>
        {PRESETS.map((days) => (
          <label key={days} className="segment">
            <input
              type="radio"
              name="days"
              checked={chosen === days}
              onChange={() =>
                setSearch(days === DEFAULT_DAYS ? kept : { days: String(days), ...kept }, { replace: true })
              }
            />
            <span>{presetName(days)}</span>
          </label>
        ))}
      </fieldset>
      <div className="range-own">
        <DayInput
          aria-label="First day"
          value={own.from}
          max={own.to || today}
          onChange={(event) => own.change({ from: event.target.value })}
        />
        <span aria-hidden="true">–</span>
        <DayInput
          aria-label="Last day"
          value={own.to}
          min={own.from}
          max={today}
          onChange={(event) => own.change({ to: event.target.value })}
        />
      </div>
      <label className="check range-compare">
        <input
          type="checkbox"
          checked={comparing}
          onChange={(event) => {
            const next = new URLSearchParams(search)
            if (event.target.checked) next.set('compare', '')
            else next.delete('compare')
            setSearch(next, { replace: true })
          }}
        />
        <span>Compare with the previous period</span>
      </label>
      <p className="range-error" role="status">
        {own.error}
      </p>
    </div>
  )
}

interface OwnRange {
  chosen: Preset | DateRange
  shown: DateRange | undefined
  today: string
  /** What stays in the address. */
  kept: Record<string, string>
}

function useOwnRange({ chosen, shown, today, kept }: OwnRange) {
  const [, setSearch] = useSearchParams()
  const current = typeof chosen === 'number' ? shown : chosen
  const [edit, setEdit] = useState<DateRange>()
  const key = JSON.stringify(chosen)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a choice made elsewhere ends the edit.
  useEffect(() => setEdit(undefined), [key])
  const range = edit ?? { from: current?.from ?? '', to: current?.to ?? '' }
  const error = edit && rangeError(edit, today)

  function change(part: Partial<DateRange>): void {
    const next = { ...range, ...part }
    setEdit(next)
    if (!rangeError(next, today)) setSearch({ from: next.from, to: next.to, ...kept }, { replace: true })
  }
  return { ...range, error, change }
}
