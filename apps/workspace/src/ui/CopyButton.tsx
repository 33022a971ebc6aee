import { useEffect, useRef, useState } from 'react'
import { announce } from './Announcer.tsx'
import { copyText } from './copy.ts'
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
  const button = useRef<HTMLButtonElement>(null)
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
    const copied = await copyText(text, button.current as HTMLElement)
    setResult(copied ? 'copied' : 'failed')
  }

  // What is read out contains what is seen (WCAG 2.5.3).
  const label = labelled && result === 'copied' ? 'Copied' : 'Copy'
  return (
    <span className="copy">
      <button
        ref={button}
        type="button"
        className={labelled ? 'button button-plain' : 'icon-button'}
        data-done={result === 'copied' || undefined}
        aria-label={`${label} ${what}`}
        title={labelled ? undefined : `Copy ${what}`}
        onClick={() => void copy()}
      >
        {result === 'copied' ? <CheckIcon /> : <CopyIcon />}
        {labelled && <span className="button-label">{label}</span>}
      </button>
      {result === 'failed' && (
        <span className="copy-said" aria-hidden="true">
          Select and copy it by hand
        </span>
      )}
    </span>
  )
}
