import type { ReactNode } from 'react'

const TONES = {
  good: 'text-good before:bg-current forced-colors:before:bg-[CanvasText]',
  warn: 'text-warn forced-colors:before:bg-[Canvas]',
  bad: 'text-bad forced-colors:before:bg-[Canvas]',
  idle: 'text-muted forced-colors:before:bg-[Canvas]',
}

/** A state in a word or two, after a dot in its colour that is filled for what is good. */
export const StatusText = ({ tone, children }: { tone: keyof typeof TONES; children: ReactNode }) => (
  <span
    className={`inline-flex items-baseline gap-2 before:size-2.25 before:flex-none before:rounded-full before:border-2 before:border-current before:forced-color-adjust-none forced-colors:before:border-[CanvasText] ${TONES[tone]}`}
    data-tone={tone}
  >
    {children}
  </span>
)
