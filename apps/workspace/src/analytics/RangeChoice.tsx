import { type ComponentProps, useEffect, useId, useState } from 'react'
import { RANGE_MAX_DAYS } from '#shared/rules/ranges.ts'
import { Checkbox, Input } from '../ui/Field.tsx'
import { useSearch } from '../ui/search.ts'
import { type DayRange, PRESETS, type Preset, RANGE, rangeError } from './range.ts'

export interface RangeChoiceProps {
  chosen: Preset | DayRange
  /** Whether the range before is shown beside it. */
  comparing: boolean
  /** The range that is on the page. */
  shown: DayRange | undefined
  /** Where the company is. */
  today: string
}

const presetName = (days: Preset): string => (days === RANGE_MAX_DAYS ? '12 months' : `${days} days`)

/** Which days: a number of them back from today, or from one date to another. It stays in the address. */
export function RangeChoice({ chosen, comparing, shown, today }: RangeChoiceProps) {
  const [, change] = useSearch(RANGE)
  const { from, to, error, changeRange } = useOwnRange({ chosen, shown, today })
  const id = useId()
  const wrong = error ? ({ 'aria-invalid': true, 'aria-describedby': id } as const) : {}
  return (
    <div className="mb-5 flex flex-wrap items-center gap-x-6 gap-y-2.5">
      <fieldset className="flex rounded-md border border-control bg-sheet max-sm:w-full">
        <legend className="sr-only">Range</legend>
        {PRESETS.map((days) => (
          <label key={days} className="segment group relative cursor-pointer max-sm:flex-1">
            <input
              className="peer covering"
              type="radio"
              name="days"
              checked={chosen === days}
              onChange={() => change({ days: String(days), from: '', to: '' })}
            />
            <span className="block rounded-sm border-line px-1 py-2.75 text-center whitespace-nowrap group-not-last:border-e peer-checked:bg-mark peer-checked:font-strong peer-checked:text-mark-ink peer-checked:outlined peer-focus-visible:outline-2 peer-focus-visible:outline-offset-3 peer-focus-visible:outline-ink sm:px-3.5 sm:py-2">
              {presetName(days)}
            </span>
          </label>
        ))}
      </fieldset>
      <div className="flex items-center gap-2 max-sm:w-full max-sm:flex-wrap">
        <DayInput
          {...wrong}
          aria-label="First day"
          value={from}
          max={to || today}
          onChange={({ target }) => changeRange({ from: target.value })}
        />
        <span className="hidden sm:inline" aria-hidden="true">
          –
        </span>
        <DayInput
          {...wrong}
          aria-label="Last day"
          value={to}
          min={from}
          max={today}
          onChange={({ target }) => changeRange({ to: target.value })}
        />
      </div>
      <Checkbox checked={comparing} onChange={(on) => change({ compare: on ? 'yes' : '' })}>
        Compare with the previous period
      </Checkbox>
      <p className="basis-full text-sm text-bad empty:hidden" id={id} role="status">
        {error}
      </p>
    </div>
  )
}

const DayInput = (props: ComponentProps<'input'>) => (
  <Input {...props} className="min-w-0 grow basis-37.5 sm:w-38 sm:flex-none" type="date" />
)

/** The days in the two fields, also while no address can ask for them. */
function useOwnRange({ chosen, shown, today }: Omit<RangeChoiceProps, 'comparing'>) {
  const [, changeSearch] = useSearch(RANGE)
  const current = typeof chosen === 'number' ? shown : chosen
  const [edit, setEdit] = useState<DayRange>()
  const key = JSON.stringify(chosen)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a choice made elsewhere ends the edit.
  useEffect(() => setEdit(undefined), [key])
  const range = edit ?? { from: current?.from ?? '', to: current?.to ?? '' }
  const error = edit && rangeError(edit, today)

  function changeRange(part: Partial<DayRange>): void {
    const next = { ...range, ...part }
    setEdit(next)
    if (!rangeError(next, today)) changeSearch({ ...next, days: RANGE.defaults.days })
  }
  return { ...range, error, changeRange }
}
