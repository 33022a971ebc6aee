import type { ReactNode } from 'react'

/** A list of sentences. */
export const Bullets = ({ className = '', children }: { className?: string; children: ReactNode }) => (
  <ul className={`grid list-[square] gap-2 ps-4.5 marker:text-muted ${className}`}>{children}</ul>
)
