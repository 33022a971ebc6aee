import type { ReactNode } from 'react'

export interface DocsLinkProps {
  to: string
  /** Follows the text for assistive technology, where the text alone says too little. */
  about?: string | undefined
  children: ReactNode
}

/** Leads to the documentation in a tab of its own, so that nothing on this screen is lost. */
export const DocsLink = ({ to, about, children }: DocsLinkProps) => (
  <a className="docs-link" href={to} target="_blank" rel="noopener">
    {children}
    <span className="off-screen">{about && ` ${about}`} (documentation, new tab)</span>
  </a>
)
