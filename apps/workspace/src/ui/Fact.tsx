import type { ReactNode } from 'react'

/** A row of a `dl` with the class `sheet`. */
export const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
