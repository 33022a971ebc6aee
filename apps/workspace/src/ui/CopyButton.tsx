import { useEffect, useRef, useState } from 'react'
import { copyText } from './copy.ts'
import { CheckIcon, CopyIcon } from './icons.tsx'

const SHOWN_MS = 2_000

export interface CopyButtonProps {
  text: string
  /** What is copied: "client id". */
  what: string
  /** Beside the icon; without it the icon stands alone. */
  label?: string
}

export function CopyButton({ text, what, label }: CopyButtonProps) {
  const button = useRef<HTMLButtonElement>(null)
  const [result, setResult] = useState<'copied' | 'failed'>()
  useEffect(() => {
    if (!result) return
    const timer = setTimeout(() => setResult(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [result])

  async function copy(): Promise<void> {
    const copied = await copyText(text, button.current as HTMLElement)
    setResult(copied ? 'copied' : 'failed')
  }

  const said = result === 'copied' ? 'Copied' : result === 'failed' ? 'Select and copy it by hand' : ''
  return (
    <span className="copy">
      <button
        ref={button}
        type="button"
        className={label ? 'button button-plain button-copy' : 'icon-button'}
        data-done={result === 'copied' || undefined}
        aria-label={label ? undefined : `Copy ${what}`}
        title={label ? undefined : `Copy ${what}`}
        onClick={() => void copy()}
      >
        {result === 'copied' ? <CheckIcon /> : <CopyIcon />}
        {label && <span className="button-label">{result === 'copied' ? 'Copied' : label}</span>}
      </button>
      <span className={result === 'failed' ? 'copy-said' : 'off-screen'} role="status">
        {said}
      </span>
    </span>
  )
}
