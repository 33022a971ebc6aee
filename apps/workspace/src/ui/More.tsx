import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { Button } from './Button.tsx'

interface MoreProps {
  query: {
    hasNextPage: boolean
    isFetchingNextPage?: boolean
    isFetchNextPageError?: boolean
    fetchNextPage: () => unknown
  }
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
    const hasFailed = query.isFetchNextPageError && !query.isFetchingNextPage
    if (next || hasFailed) before.current = Number.POSITIVE_INFINITY
    if (!next) return
    next.tabIndex = -1
    if (document.activeElement === document.body || place.current?.contains(document.activeElement))
      next.focus()
  })
  return (
    <div ref={place} className="mt-5 justify-self-start empty:hidden">
      {query.hasNextPage && (
        <Button
          busy={query.isFetchingNextPage}
          onClick={() => {
            before.current = rows().length
            query.fetchNextPage()
          }}
        >
          {children}
        </Button>
      )}
    </div>
  )
}
