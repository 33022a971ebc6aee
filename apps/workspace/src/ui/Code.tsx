import { CopyButton } from './CopyButton.tsx'

interface CodeProps {
  text: string
  /** What it is: "curl command". */
  what: string
}

const SCROLLED = 'max-h-75 overflow-auto rounded-md in-[[role=dialog]]:max-h-60'

/** A block of code that scrolls sideways, by keyboard too, and can be copied. */
export const Code = ({ text, what }: CodeProps) => (
  <div className="code grid grid-cols-[minmax(0,1fr)_auto]">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard. */}
    <section className={SCROLLED} aria-label={what} tabIndex={0}>
      <pre className="w-max min-w-full text-sm">
        <code>{text}</code>
      </pre>
    </section>
    <span className="p-1">
      <CopyButton text={text} what={what} />
    </span>
  </div>
)
