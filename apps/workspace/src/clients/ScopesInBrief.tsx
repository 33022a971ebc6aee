import { type KeyboardEvent, useId } from 'react'
import type { Scope } from '#shared/oauth/scopes.ts'
import { inOrder, SCOPE_WORDS } from './scopes.ts'

/** A single scope by name; several as counts, with the list on hover or focus. */
export function ScopesInBrief({ scopes }: { scopes: readonly Scope[] }) {
  const id = useId()
  const [only] = scopes
  if (scopes.length === 1) return <code className="scope-one">{only}</code>
  const writes = scopes.filter((scope) => SCOPE_WORDS[scope].changes).length
  const reads = scopes.length - writes
  const leave = (event: KeyboardEvent<HTMLButtonElement>) => {
    if (event.key === 'Escape') event.currentTarget.blur()
  }
  return (
    <span className="scope-brief">
      <button type="button" aria-describedby={id} onKeyDown={leave}>
        {[reads > 0 && `read ×${reads}`, writes > 0 && `write ×${writes}`].filter(Boolean).join(', ')}
      </button>
      <span className="scope-all" id={id} role="tooltip">
        {inOrder(scopes).map((scope) => (
          <code key={scope}>{scope}</code>
        ))}
      </span>
    </span>
  )
}
