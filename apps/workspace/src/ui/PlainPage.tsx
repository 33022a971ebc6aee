import type { ReactNode } from 'react'
import { checkSessionAgain } from '../api/session.ts'
import { Brand } from './Brand.tsx'
import { Button } from './Button.tsx'
import { DocsHome } from './DocsLink.tsx'
import { takeFocus } from './focus.ts'
import { Notice } from './Notice.tsx'

export interface PlainPageProps {
  title: string
  /** In place of the title, when it takes more than text. */
  heading?: ReactNode
  /** What is at the end of the head. */
  action?: ReactNode
  /** What it is for, below the title. */
  lede?: ReactNode
  children: ReactNode
}

/** A page outside a company: its title, and one column. */
export function PlainPage({ title, heading = title, action, lede, children }: PlainPageProps) {
  return (
    <div className="grid min-h-dvh grid-rows-[auto_1fr]">
      <title>{`${title} · Integration Access`}</title>
      <header className="flex flex-wrap items-center justify-between px-[clamp(16px,4vw,48px)] py-5">
        <Brand />
        <div className="flex items-center gap-x-4">
          <DocsHome className="inline-flex min-h-11 items-center text-ink-2 sm:min-h-9">
            Documentation
          </DocsHome>
          {action}
        </div>
      </header>
      <main className="grid w-full max-w-108 content-center gap-4.5 justify-self-center px-4 pt-6 pb-12">
        <h1>{heading}</h1>
        {lede && <p className="-mt-3 text-pretty text-ink-2">{lede}</p>}
        {children}
      </main>
    </div>
  )
}

/** Until the service has said who is signed in. */
export const Opening = ({ error }: { error?: Error }) => (
  <main className="grid min-h-screen place-content-center justify-items-center gap-6 p-6">
    <title>Integration Access</title>
    <h1 className="sr-only">Integration Access</h1>
    <Brand />
    {error ? (
      <Notice
        tone="warn"
        title="The workspace could not be opened"
        live
        actions={
          <Button variant="primary" ref={takeFocus} onClick={() => void checkSessionAgain()}>
            Try again
          </Button>
        }
      >
        {error.message}
      </Notice>
    ) : (
      <p className="h-0.75 w-45 animate-pulse rounded-xs bg-line-strong" role="status">
        <span className="sr-only">Opening the workspace</span>
      </p>
    )}
  </main>
)
