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
    <fieldset className={error ? 'choice field-wrong' : 'choice'} aria-describedby={`${id}note`}>
      <legend>Scopes</legend>
      <p className="small quiet">
        Choose only what it needs. Scopes cannot be changed later, and they limit what a stolen {proof} can
        do.
      </p>
      {SCOPE_GROUPS.map((group) => (
        <div key={group.title} className="choice-group">
          <p className="choice-group-title">{group.title}</p>
          {group.scopes.map((scope) => (
            <div key={scope} className="choice-option">
              <label>
                <input
                  type="checkbox"
                  name="scope"
                  value={scope}
                  checked={scopes.includes(scope)}
                  onChange={(event) => toggle(scope, event.target.checked)}
                />
                <span className="choice-words">
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
