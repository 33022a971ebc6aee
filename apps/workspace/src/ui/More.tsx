import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { Button } from './Button.tsx'

interface MoreProps {
  query: { hasNextPage: boolean; isFetchingNextPage?: boolean; fetchNextPage: () => unknown }
  children?: ReactNode
}

/** The next page of a list, if there is one. The focus goes to its first row. */
export function More({ query, children = 'Show more' }: MoreProps) {
  const place = useRef<HTMLDivElement>(null)
  /** How many rows there were when more were asked for. */
  const before = useRef(Number.POSITIVE_INFINITY)
  const rows = () => place.current?.parentElement?.querySelectorAll<HTMLElement>('li, tbody tr') ?? []
  useLayoutEffect(() => {
    const next = rows()[before.current]
    if (!next) return
    before.current = Number.POSITIVE_INFINITY
    next.tabIndex = -1
    if (document.activeElement === document.body || place.current?.contains(document.activeElement))
      next.focus()
  })
  return (
    <div ref={place} className="mt-5 justify-self-start empty:hidden">
      {query.hasNextPage && (
        <Button
          busy={query.isFetchingNextPage}
          onClick={async () => {
            before.current = rows().length
            const answer = (await query.fetchNextPage()) as { isError: boolean } | undefined
            if (answer?.isError) before.current = Number.POSITIVE_INFINITY
          }}
        >
          {children}
        </Button>
      )}
    </div>
  )
}
