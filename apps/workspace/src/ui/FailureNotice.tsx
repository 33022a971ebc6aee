import { DocsLink } from './DocsLink.tsx'
import { docsOfProblem } from './docs.ts'
import { Notice } from './Notice.tsx'
import type { Failure } from './submit.ts'

/** Why the last try failed, if it did. */
export const FailureNotice = ({ failure }: { failure: Failure | undefined }) =>
  failure && (
    <Notice tone="bad" title={failure.title} live>
      {failure.text} <AboutError code={failure.code} />
    </Notice>
  )

/** @param code of a problem that the API answered; undefined when it did not answer. */
export const AboutError = ({ code }: { code: string | undefined }) =>
  code && (
    <DocsLink to={docsOfProblem(code)} about={code}>
      About this error
    </DocsLink>
  )
