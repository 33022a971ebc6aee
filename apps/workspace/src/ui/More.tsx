import { Button } from './Button.tsx'

export interface MoreProps {
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }
}

/** The next page of a list, if there is one. */
export const More = ({ query }: MoreProps) =>
  query.hasNextPage && (
    <Button className="more" busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
      Show more
    </Button>
  )
