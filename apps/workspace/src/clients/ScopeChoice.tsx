import { type ReactNode, useEffect, useId, useRef } from 'react'
import { SCOPES, type Scope } from '#shared/oauth/scopes.ts'
import { ScopeName } from '../ui/ScopeName.tsx'
import { reach, SCOPE_GROUPS, SCOPE_WORDS } from './scopes.ts'

export interface ScopeChoiceProps {
  scopes: readonly Scope[]
  onChange: (scopes: Scope[]) => void
  error: ReactNode
  /** What whoever has it can use the scopes. */
  proof: 'secret' | 'private key'
}

/** Nothing is chosen beforehand. */
export function ScopeChoice({ scopes, onChange, error, proof }: ScopeChoiceProps) {
  const id = useId()
  const note = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (error) note.current?.scrollIntoView({ block: 'nearest' })
  }, [error])
  const toggle = (scope: Scope, on: boolean) =>
    onChange(SCOPES.filter((each) => (each === scope ? on : scopes.includes(each))))
  return (
    <fieldset
      className={`choice grid min-w-0 gap-2.5 ${error ? 'field-wrong' : ''}`}
      aria-describedby={`${id}note`}
    >
      <legend>Scopes</legend>
      <p className="small quiet">
        Choose only what it needs. Scopes cannot be changed later, and they limit what a stolen {proof} can
        do.
      </p>
      {SCOPE_GROUPS.map((group) => (
        <div key={group.title} className="grid">
          <p className="border-b border-line-strong pb-1 text-[13px] text-ink-3">{group.title}</p>
          {group.scopes.map((scope) => (
            <div
              key={scope}
              className="choice-option grid grid-cols-[1fr_auto] items-start gap-x-3 gap-y-0.5 border-b border-line hover:bg-sunk has-checked:bg-mark-soft max-[461px]:grid-cols-1 [&>.docs-link]:px-1 [&>.docs-link]:py-2.5 [&>.docs-link]:text-[14px] [&>.docs-link]:text-ink-2 max-[461px]:[&>.docs-link]:pt-0 max-[461px]:[&>.docs-link]:pb-[9px] max-[461px]:[&>.docs-link]:ps-[34px]"
            >
              <label className="grid cursor-pointer grid-cols-[auto_1fr] gap-3 px-1 py-[9px] max-[461px]:pb-0.5 [&_input]:mt-0.5">
                <input
                  type="checkbox"
                  name="scope"
                  value={scope}
                  checked={scopes.includes(scope)}
                  onChange={(event) => toggle(scope, event.target.checked)}
                />
                <span className="grid">
                  <span className="strong">{SCOPE_WORDS[scope].title}</span>
                  <span className="small quiet">{SCOPE_WORDS[scope].text}</span>
                </span>
              </label>
              <ScopeName scope={scope} />
            </div>
          ))}
        </div>
      ))}
      <p ref={note} className="field-note" id={`${id}note`} role="status">
        {error ?? reach(scopes, proof)}
      </p>
    </fieldset>
  )
}
