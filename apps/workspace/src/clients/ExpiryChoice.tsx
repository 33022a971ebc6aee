import type { ReactNode } from 'react'
import { day } from '../api/time.ts'
import { DayInput } from '../ui/DayInput.tsx'
import { Labelled } from '../ui/Field.tsx'
import { daysAllowed, type Expiry, expiresAt, type Lifetime } from './expiry.ts'

const OFFERED = [
  { days: 90, label: 'In 90 days' },
  { days: 365, label: 'In a year' },
]

export interface ExpiryChoiceProps {
  expiry: Expiry
  /** The lifetime of the client that is replaced. */
  before: Lifetime
  onChange: (expiry: Expiry) => void
  error: ReactNode
}

export function ExpiryChoice({ expiry, before, onChange, error }: ExpiryChoiceProps) {
  const { lifetime, date } = expiry
  const now = new Date()
  const other = typeof before === 'number' && !OFFERED.some(({ days }) => days === before)
  const at = lifetime === 'date' ? undefined : expiresAt(expiry, now)
  return (
    <div className="grid grid-cols-[repeat(auto-fit,minmax(200px,1fr))] items-start gap-x-4 gap-y-[18px]">
      <Labelled
        label="Expires"
        hint={
          lifetime === 'never'
            ? 'It works until someone revokes it.'
            : at &&
              `On ${day(new Date(at))}. Its token requests are refused from then on. This cannot be changed later.`
        }
      >
        {(control) => (
          <select
            {...control}
            className="input"
            value={lifetime}
            onChange={({ target: { value } }) =>
              onChange({ lifetime: value === 'never' || value === 'date' ? value : Number(value), date: '' })
            }
          >
            <option value="never">Never</option>
            {other && <option value={before}>In {before} days, as before</option>}
            {OFFERED.map(({ days, label }) => (
              <option key={days} value={days}>
                {label}
                {days === before && ', as before'}
              </option>
            ))}
            <option value="date">On a day that you choose</option>
          </select>
        )}
      </Labelled>
      {lifetime === 'date' && (
        <Labelled
          label="Last day"
          hint="It works until the end of this day. This cannot be changed later."
          error={error}
        >
          {(control) => (
            <DayInput
              {...control}
              name="expiry"
              {...daysAllowed(now)}
              value={date}
              onChange={(event) => onChange({ lifetime, date: event.target.value })}
            />
          )}
        </Labelled>
      )}
    </div>
  )
}
