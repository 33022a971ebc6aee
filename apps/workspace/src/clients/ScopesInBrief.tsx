import { type KeyboardEvent, useId } from 'react'
import type { Scope } from '#shared/oauth/scopes.ts'
import { inOrder, SCOPE_WORDS } from './scopes.ts'

/** A single scope by name; several as counts, with the list on hover or focus. */
export function ScopesInBrief({ scopes }: { scopes: readonly Scope[] }) {
  const id = useId()
  const [only] = scopes
  if (scopes.length === 1) return <code className="text-[13px]">{only}</code>
  const writes = scopes.filter((scope) => SCOPE_WORDS[scope].changes).length
  const reads = scopes.length - writes
  const leave = (event: KeyboardEvent<HTMLButtonElement>) => {
    if (event.key === 'Escape') event.currentTarget.blur()
  }
  return (
    <span className="group relative inline-block">
      <button
        type="button"
        className="peer cursor-help border-0 bg-transparent p-0 font-mono text-[13px] leading-normal underline decoration-control decoration-dotted underline-offset-4"
        aria-describedby={id}
        onKeyDown={leave}
      >
        {[reads > 0 && `read ×${reads}`, writes > 0 && `write ×${writes}`].filter(Boolean).join(', ')}
      </button>
      <span
        className="absolute -start-2.5 top-[calc(100%+4px)] z-5 hidden rounded-md border border-line-strong bg-sheet px-3 py-2 text-[14px] shadow-(--shadow) group-hover:block peer-focus:block [&>code]:block [&>code]:whitespace-nowrap"
        id={id}
        role="tooltip"
      >
        {inOrder(scopes).map((scope) => (
          <code key={scope}>{scope}</code>
        ))}
      </span>
    </span>
  )
}
