import { type ReactNode, useEffect, useRef } from 'react'
import { DocsLink } from './DocsLink.tsx'
import { docsOfProblem } from './docs.ts'
import type { ErrorMessage } from './explain.ts'
import { AlertIcon, CheckIcon, InfoIcon } from './icons.tsx'

export type Tone = 'info' | 'good' | 'warn' | 'bad'

export interface NoticeProps {
  tone: Tone
  title: ReactNode
  children?: ReactNode
  actions?: ReactNode
  /** Read out when it appears. */
  live?: boolean
}

export const TONES: Record<Tone, string> = {
  info: 'text-ink-2',
  good: 'text-good',
  warn: 'text-warn',
  bad: 'text-bad',
}
export const TONE_GROUNDS: Record<Tone, string> = {
  info: 'bg-sunk',
  good: 'bg-good-soft',
  warn: 'bg-warn-soft',
  bad: 'bg-bad-soft',
}
const NOTICE =
  'flex flex-wrap gap-x-3 gap-y-2.5 rounded-s-xs rounded-e-md border-s-3 border-current px-4 py-3.5'

export function Notice({ tone, title, children, actions, live = false }: NoticeProps) {
  const Icon = tone === 'good' ? CheckIcon : tone === 'info' ? InfoIcon : AlertIcon
  return (
    <div
      className={`${NOTICE} ${TONES[tone]} ${TONE_GROUNDS[tone]} ${children ? '' : 'items-center'}`}
      role={live ? (tone === 'bad' ? 'alert' : 'status') : undefined}
    >
      <Icon />
      <div className={`min-w-0 wrap-anywhere ${children ? 'flex-[1_1_20ch]' : 'flex-[1_1_12ch]'}`}>
        <p className={tone === 'info' ? 'font-strong text-ink' : 'font-strong'}>{title}</p>
        {children && <div className="text-ink">{children}</div>}
      </div>
      {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </div>
  )
}

/** The error of the last try. It is scrolled into view, since it may be far from the button. */
export function FailureNotice({ failure }: { failure: ErrorMessage | undefined }) {
  const place = useRef<HTMLDivElement>(null)
  const isShown = failure !== undefined
  useEffect(() => {
    if (isShown) place.current?.scrollIntoView({ block: 'nearest' })
  }, [isShown])
  return (
    failure && (
      // Clear of the bar or the footer that lies over it.
      <div ref={place} className="scroll-my-24">
        <Notice tone="bad" title={failure.title} live>
          {failure.text} <AboutError code={failure.code} />
        </Notice>
      </div>
    )
  )
}

/** @param code of the API's problem, undefined if it did not answer. */
export const AboutError = ({ code }: { code: string | undefined }) =>
  code && (
    <DocsLink to={docsOfProblem(code)} about={code}>
      About this error
    </DocsLink>
  )
