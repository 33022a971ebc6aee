export interface FilterChoiceProps<Value extends string> {
  legend: string
  name: string
  value: Value
  options: readonly { value: Value; label: string; count: string | number }[]
  onChange: (value: Value) => void
}

/** Chooses what a list shows. Each choice has a count. */
export const FilterChoice = <Value extends string>({
  legend,
  name,
  value,
  options,
  onChange,
}: FilterChoiceProps<Value>) => (
  <fieldset className="-ms-2.75 flex flex-wrap">
    <legend className="sr-only">{legend}</legend>
    {options.map((option) => (
      <label key={option.value} className="group relative cursor-pointer">
        <input
          className="covering"
          type="radio"
          name={name}
          checked={value === option.value}
          onChange={() => onChange(option.value)}
        />
        <span className="block rounded-md px-2.75 py-2.75 text-ink-2 group-hover:bg-sunk group-has-checked:font-strong group-has-checked:text-ink group-has-checked:underline group-has-checked:decoration-2 group-has-checked:underline-offset-6 group-has-checked:outlined group-has-focus-visible:outline-2 group-has-focus-visible:-outline-offset-2 group-has-focus-visible:outline-ink sm:py-1.75">
          {option.label}{' '}
          <span className="font-mono text-[0.92em] font-normal text-muted">{option.count}</span>
        </span>
      </label>
    ))}
  </fieldset>
)
