import type { ReactNode } from 'react'

/** A row of a `dl`. */
export const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="grid gap-x-6 gap-y-1 border-b border-line py-2.25 first:border-t first:border-t-line-strong sm:grid-cols-[minmax(120px,200px)_1fr] sm:py-2.75">
    <dt className="text-muted max-sm:text-sm">{name}</dt>
    <dd className="min-w-0 wrap-anywhere">{children}</dd>
  </div>
)
