import type { Scope } from '#shared/oauth/scopes.ts'
import { DocsLink } from './DocsLink.tsx'
import { docsOfScope } from './docs.ts'

/** A scope as the API calls it; leads to what it allows. */
export const ScopeName = ({ scope }: { scope: Scope }) => (
  <DocsLink to={docsOfScope(scope)}>
    <code>{scope}</code>
  </DocsLink>
)
