import { type ReactNode, useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { zone } from '../api/time.ts'
import { BackIcon } from '../ui/icons.tsx'
import { useCompany } from './company.ts'

let first = true

export interface PageProps {
  title: string
  /** In place of the title, when it takes more than text. */
  heading?: ReactNode
  section?: string
  back?: { to: string; label: string }
  lede?: ReactNode
  actions?: ReactNode
  /** A table that has use for a large screen. */
  wide?: boolean
  children: ReactNode
}

/** A screen: names the document, and takes the focus to its heading when one comes to it from another. */
export function Page({ title, heading, section, back, lede, actions, wide = false, children }: PageProps) {
  const company = useCompany()
  const headingRef = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · ${company.name}`
  }, [title, company.name])
  useEffect(() => {
    if (!first) headingRef.current?.focus({ preventScroll: true })
    if (!first) window.scrollTo(0, 0)
    first = false
  }, [])
  return (
    <div className={wide ? 'page page-wide' : 'page'}>
      <header className="page-head">
        <div className="page-title">
          {back ? (
            <Link className="crumb" href={back.to}>
              <BackIcon />
              {back.label}
            </Link>
          ) : (
            section && <p className="crumb">{section}</p>
          )}
          <h1 ref={headingRef} tabIndex={-1}>
            {heading ?? title}
          </h1>
          {lede && <p className="lede">{lede}</p>}
        </div>
        {actions && <div className="page-actions">{actions}</div>}
        <p className="page-zone small quiet">All times are in {zone()}.</p>
      </header>
      {children}
    </div>
  )
}
