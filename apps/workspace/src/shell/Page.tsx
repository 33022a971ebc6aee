import { type ReactNode, useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { useCompany } from '../api/company.ts'
import { BackIcon } from '../ui/icons.tsx'

let first = true

export interface PageProps {
  title: string
  /** In place of the title, when it takes more than text. */
  heading?: ReactNode
  section?: string
  back?: { to: string; label: string }
  lede?: ReactNode
  /** What changes something, or is for managers alone. A viewer gets a sentence instead. */
  actions?: ReactNode
  /** It shows nothing of the company, so there is nothing that a viewer could not change. */
  bare?: boolean
  /** A table that has use for a large screen. */
  wide?: boolean
  children: ReactNode
}

const CRUMB = 'inline-flex min-h-6 items-center gap-1 justify-self-start text-md'

/** Whom to ask for more. */
export function OwnerName() {
  const { ownerName } = useCompany()
  if (ownerName === null) return 'the owner'
  return (
    <>
      <bdi className="font-strong">{ownerName}</bdi>, who owns the company,
    </>
  )
}

/** A screen: names the document, and takes the focus to its heading when one comes to it from another. */
export function Page(props: PageProps) {
  const { title, heading, section, back, lede, actions, bare = false, wide = false, children } = props
  const company = useCompany()
  const headingRef = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (!first) headingRef.current?.focus({ preventScroll: true })
    if (!first) window.scrollTo(0, 0)
    first = false
  }, [])
  return (
    <div className={`mx-auto ${wide ? 'max-w-370' : 'max-w-270'}`}>
      <title>{`${title} · ${company.name}`}</title>
      <header className="mb-5.5 flex flex-wrap items-end justify-between gap-x-6 gap-y-4 desk:mb-4">
        <div className="grid min-w-0 grow basis-85 gap-1.5">
          {back ? (
            <Link className={`${CRUMB} -ms-1.5 pe-1.5 text-link max-sm:min-h-11`} href={back.to}>
              <BackIcon />
              {back.label}
            </Link>
          ) : (
            section && <p className={`${CRUMB} text-muted`}>{section}</p>
          )}
          <h1 ref={headingRef} tabIndex={-1}>
            {heading ?? title}
          </h1>
          {lede && <p className="max-w-prose text-pretty text-ink-2">{lede}</p>}
          {company.role === 'viewer' && company.mayView && !bare && (
            <p>
              You can look but not change anything. Ask <OwnerName /> to make you an admin.
            </p>
          )}
        </div>
        {company.mayManage && actions && <div className="flex flex-wrap gap-1.5 sm:gap-2.5">{actions}</div>}
      </header>
      {children}
    </div>
  )
}
