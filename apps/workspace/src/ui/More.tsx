import { Button } from './Button.tsx'

interface MoreProps {
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }
}

/** The next page of a list, if there is one. */
export const More = ({ query }: MoreProps) =>
  query.hasNextPage && (
    <Button
      className="mt-5 justify-self-start"
      busy={query.isFetchingNextPage}
      onClick={() => void query.fetchNextPage()}
    >
      Show more
    </Button>
  )
