import type { ComponentProps, ReactNode } from 'react'

interface SectionProps extends Omit<ComponentProps<'section'>, 'title'> {
  /** The id of its heading, for links to it. */
  id: string
  title: ReactNode
}

/** A part of a page, below its heading. */
export const Section = ({ id, title, className = 'mt-10', children, ...rest }: SectionProps) => (
  <section {...rest} className={`grid grid-cols-1 gap-3.5 ${className}`} aria-labelledby={id}>
    <h2 id={id} tabIndex={-1}>
      {title}
    </h2>
    {children}
  </section>
)
