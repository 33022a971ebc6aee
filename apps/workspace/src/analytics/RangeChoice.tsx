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
    <div className="mb-5 flex flex-wrap items-center gap-x-6 gap-y-2.5">
      <fieldset className="flex rounded-md border border-control bg-sheet max-phone:w-full">
        <legend className="off-screen">Range</legend>
        {PRESETS.map((days) => (
          <label key={days} className="segment max-phone:flex-1">
            <input
              className="peer"
              type="radio"
              name="days"
              checked={chosen === days}
              onChange={() =>
                setSearch(days === DEFAULT_DAYS ? kept : { days: String(days), ...kept }, { replace: true })
              }
            />
            <span className="block rounded-sm px-3.5 py-2 text-center whitespace-nowrap peer-checked:bg-mark peer-checked:font-[620] peer-checked:text-mark-ink peer-focus-visible:outline-2 peer-focus-visible:outline-offset-3 peer-focus-visible:outline-ink in-[.segment:not(:last-child)]:border-e in-[.segment:not(:last-child)]:border-line max-phone:px-1">
              {presetName(days)}
            </span>
          </label>
        ))}
      </fieldset>
      <div className="flex items-center gap-2 max-phone:w-full max-phone:flex-wrap [&_.input]:w-[152px] max-phone:[&_.input]:w-full max-phone:[&_.input]:min-w-0 max-phone:[&>.day-input]:min-w-0 max-phone:[&>.day-input]:flex-[1_1_150px]">
        <DayInput
          aria-label="First day"
          value={own.from}
          max={own.to || today}
          onChange={(event) => own.change({ from: event.target.value })}
        />
        <span className="max-phone:hidden" aria-hidden="true">
          –
        </span>
        <DayInput
          aria-label="Last day"
          value={own.to}
          min={own.from}
          max={today}
          onChange={(event) => own.change({ to: event.target.value })}
        />
      </div>
      <label className="check font-[400]">
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
      <p className="basis-full text-[13px] text-bad empty:hidden" role="status">
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
