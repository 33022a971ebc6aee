import { useEffect, useState, useSyncExternalStore } from 'react'
import { Button } from './Button.tsx'
import { CheckIcon, CopyIcon } from './icons.tsx'

const SHOWN_MS = 2_000

export interface CopyButtonProps {
  text: string
  /** What is copied: "client id". */
  what: string
  /** "Copy" in words beside the icon. */
  labelled?: boolean
}

export function CopyButton({ text, what, labelled = false }: CopyButtonProps) {
  const [result, setResult] = useState<'copied' | 'failed'>()
  useEffect(() => {
    if (!result) return
    announce(result === 'copied' ? 'Copied' : 'Not copied: select it and copy it by hand')
    const timer = setTimeout(() => {
      announce('')
      setResult(undefined)
    }, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [result])

  async function copy(): Promise<void> {
    try {
      // There is no clipboard outside a secure context.
      await navigator.clipboard.writeText(text)
      setResult('copied')
    } catch {
      setResult('failed')
    }
  }

  const copied = result === 'copied'
  const icon = copied ? <CheckIcon /> : <CopyIcon />
  // What is read out contains what is seen (WCAG 2.5.3).
  const label = labelled && copied ? 'Copied' : 'Copy'
  return (
    <span className="copy inline-flex items-center gap-1.5">
      {labelled ? (
        <Button icon={icon} aria-label={`${label} ${what}`} onClick={() => void copy()}>
          {label}
        </Button>
      ) : (
        <button
          type="button"
          className={`icon-button ${copied ? 'text-good hover:text-good' : ''}`}
          aria-label={`${label} ${what}`}
          title={`Copy ${what}`}
          onClick={() => void copy()}
        >
          {icon}
        </button>
      )}
      {result === 'failed' && (
        <span className="text-[13px] text-bad" aria-hidden="true">
          Select and copy it by hand
        </span>
      )}
    </span>
  )
}

export interface CodeProps {
  text: string
  /** What it is: "curl command". */
  what: string
}

const SCROLLED = 'max-h-[300px] overflow-auto rounded-md in-[.dialog]:max-h-[15rem]'

/** A block of code that scrolls sideways, by keyboard too, and can be copied. */
export const Code = ({ text, what }: CodeProps) => (
  <div className="code grid grid-cols-[minmax(0,1fr)_auto] [&>.copy]:self-start [&>.copy]:p-1">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard. */}
    <section className={SCROLLED} aria-label={what} tabIndex={0}>
      <pre className="w-max min-w-full text-[13px]">
        <code>{text}</code>
      </pre>
    </section>
    <CopyButton text={text} what={what} />
  </div>
)

let announcement = ''
const listeners = new Set<() => void>()

/** Has a screen reader say something that is seen elsewhere already. */
function announce(text: string): void {
  announcement = text
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * One live region for the whole page, since one in each button would be read out with every row of a table.
 * It needs the aria-live attribute: an open dialog hides everything else from assistive technology.
 */
export const Announcer = () => (
  <p className="off-screen" role="status" aria-live="polite">
    {useSyncExternalStore(subscribe, () => announcement)}
  </p>
)
