import { useEffect, useState } from 'react'
import { announceText } from './Announcer.tsx'
import { Button, IconButton } from './Button.tsx'
import { CheckIcon, CopyIcon } from './icons.tsx'

const SHOWN_MS = 2_000
const BY_HAND = 'Select and copy it by hand'

interface CopyButtonProps {
  text: string
  /** What is copied: "client id". */
  what: string
  /** "Copy" in words beside the icon. */
  labelled?: boolean
  /** What to do if the browser refuses. By default the text is on the page. */
  otherwise?: string
}

export function CopyButton({ text, what, labelled = false, otherwise = BY_HAND }: CopyButtonProps) {
  const [result, setResult] = useState<'copied' | 'failed'>()
  useEffect(() => {
    if (!result) return
    // Said of another text a moment later, the same words would not be read out.
    announceText(result === 'copied' ? `Copied ${what}` : `Not copied: ${what}. ${otherwise}`)
    const timer = setTimeout(() => setResult(undefined), SHOWN_MS)
    return () => {
      clearTimeout(timer)
      announceText('')
    }
  }, [result, what, otherwise])

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
    <span className="inline-flex items-center gap-1.5">
      {labelled ? (
        <Button icon={icon} aria-label={`${label} ${what}`} onClick={() => void copy()}>
          {label}
        </Button>
      ) : (
        <IconButton
          className={copied ? 'text-good hover:bg-sunk' : undefined}
          aria-label={`${label} ${what}`}
          title={`Copy ${what}`}
          onClick={() => void copy()}
        >
          {icon}
        </IconButton>
      )}
      {result === 'failed' && (
        <span className="text-sm" aria-hidden="true">
          {otherwise}
        </span>
      )}
    </span>
  )
}

/** A value in a line of text, and its button. */
export const Copyable = ({ text, what }: { text: string; what: string }) => (
  <span className="flex items-center gap-x-2">
    <code>{text}</code>
    <span className="-my-2">
      <CopyButton text={text} what={what} />
    </span>
  </span>
)
