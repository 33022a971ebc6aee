import { useEffect, useRef } from 'react'
import { DocsLink } from './DocsLink.tsx'
import { docsOfProblem } from './docs.ts'
import { Notice } from './Notice.tsx'
import type { Failure } from './submit.ts'

/** Why the last try failed, if it did; scrolled into view, since it may be far from the button. */
export function FailureNotice({ failure }: { failure: Failure | undefined }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (failure) place.current?.scrollIntoView({ block: 'nearest' })
  }, [failure])
  return (
    failure && (
      <div ref={place} className="failure">
        <Notice tone="bad" title={failure.title} live>
          {failure.text} <AboutError code={failure.code} />
        </Notice>
      </div>
    )
  )
}

/** @param code of a problem that the API answered; undefined when it did not answer. */
export const AboutError = ({ code }: { code: string | undefined }) =>
  code && (
    <DocsLink to={docsOfProblem(code)} about={code}>
      About this error
    </DocsLink>
  )
