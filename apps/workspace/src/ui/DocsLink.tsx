import type { ReactNode } from 'react'
import type { Scope } from '#shared/oauth/scopes.ts'
import { DOCS, docsOfScope } from './docs.ts'

export interface DocsLinkProps {
  to: string
  /** Follows the text for assistive technology, where the text alone says too little. */
  about?: string | undefined
  /** It is not part of a sentence, and as large as a finger. */
  standalone?: boolean
  children: ReactNode
}

/** Leads to the documentation in a tab of its own, so that nothing on this screen is lost. */
export const DocsLink = ({ to, about, standalone = false, children }: DocsLinkProps) => (
  <a
    className={`whitespace-nowrap text-inherit decoration-control hover:text-link hover:decoration-current ${standalone ? 'touch sm:inline-flex sm:min-h-6 sm:items-center' : ''}`}
    href={to}
    target="_blank"
    rel="noopener"
  >
    {children}
    <span className="sr-only">{about && ` ${about}`} (documentation, new tab)</span>
  </a>
)

/** Leads to the start of the documentation, from the head of every screen. */
export const DocsHome = ({ className, children }: { className: string; children: ReactNode }) => (
  <a className={className} href={DOCS.start} target="_blank" rel="noopener">
    {children}
    <span className="sr-only"> (new tab)</span>
  </a>
)

/** A scope by its name in the API, linked to its documentation. */
export const ScopeName = ({ scope, standalone = false }: { scope: Scope; standalone?: boolean }) => (
  <DocsLink standalone={standalone} to={docsOfScope(scope)}>
    <code>{scope}</code>
  </DocsLink>
)
