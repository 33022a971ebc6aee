import { CopyButton } from './CopyButton.tsx'

export interface CodeProps {
  text: string
  /** What it is: "curl command". */
  what: string
}

/** A block of code that scrolls sideways, by keyboard too, and can be copied. */
export function Code({ text, what }: CodeProps) {
  return (
    <div className="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard. */}
      <section className="code-text" aria-label={what} tabIndex={0}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
      <CopyButton text={text} what={what} />
    </div>
  )
}
