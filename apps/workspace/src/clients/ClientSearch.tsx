import { type KeyboardEvent, useEffect, useRef } from 'react'
import { type Order, VIEWS, type View, type Wanted } from './find-clients.ts'

export interface ClientSearchProps {
  wanted: Wanted
  counts: Record<View, number>
  /** False while older revoked clients are still loading. */
  complete: boolean
  onWant: (part: Partial<Wanted>) => void
}

/** Finds clients by name or id; each filter says how many it has of them. */
export function ClientSearch({ wanted, counts, complete, onWant }: ClientSearchProps) {
  const input = useSlash()
  const { view, typed, order, reversed } = wanted
  const counted = (each: View) =>
    `${counts[each].toLocaleString('en')}${complete || (each !== 'revoked' && each !== 'all') ? '' : '+'}`

  function leave(event: KeyboardEvent): void {
    if (event.key !== 'Escape') return
    if (typed) onWant({ typed: '' })
    else input.current?.blur()
  }

  return (
    <search className="mb-1.5 flex flex-wrap items-center gap-x-5 gap-y-2">
      <div className="relative flex-[0_1_300px] max-desk:flex-[1_1_100%]">
        <input
          ref={input}
          className="peer input min-h-[38px] pe-10"
          type="search"
          aria-label="Search by name or client id"
          aria-keyshortcuts="/"
          placeholder="Search by name or id"
          autoComplete="off"
          spellCheck={false}
          dir="auto"
          value={typed}
          onChange={(event) => onWant({ typed: event.target.value })}
          onKeyDown={leave}
        />
        <span
          className="key pointer-events-none absolute end-2.5 top-2 peer-not-placeholder-shown:hidden peer-focus:hidden [@media(hover:none)]:hidden"
          aria-hidden="true"
        >
          /
        </span>
      </div>
      <fieldset className="filter">
        <legend className="off-screen">Show</legend>
        {VIEWS.filter(({ view: each }) => each !== 'expiring' || view === each || counts[each] > 0).map(
          ({ view: each, label }) => (
            <label key={each} className="filter-item">
              <input
                type="radio"
                name="show"
                checked={view === each}
                onChange={() => onWant({ view: each })}
              />
              <span>
                {label} <span className="filter-count">{counted(each)}</span>
              </span>
            </label>
          ),
        )}
      </fieldset>
      <label className="hidden max-[1000px]:block">
        <span className="off-screen">Sort by</span>
        <select
          className="input min-h-[38px]"
          value={`${reversed ? '-' : ''}${order}`}
          onChange={({ target: { value } }) =>
            onWant({ order: value.replace('-', '') as Order, reversed: value.startsWith('-') })
          }
        >
          <option value="added">Newest first</option>
          <option value="-added">Oldest first</option>
          <option value="used">Last used first</option>
          <option value="-used">Least recently used first</option>
          <option value="expires">Expires first</option>
          <option value="-expires">Expires last</option>
          <option value="name">Name, A to Z</option>
          <option value="-name">Name, Z to A</option>
        </select>
      </label>
      <p className="off-screen" role="status">
        {typed && `${counts[view]} found`}
      </p>
    </search>
  )
}

/** The input that the key / goes to, from anywhere on the page where it is not typed. */
function useSlash() {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      const target = event.target as Element | null
      const typing = target?.closest('input:not([type="radio"]), textarea, select, [role="dialog"]')
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || typing) return
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  return input
}
