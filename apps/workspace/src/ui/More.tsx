import { Button } from './Button.tsx'

type Pages = Record<'hasNextPage' | 'isFetchingNextPage', boolean> & { fetchNextPage: () => unknown }

/** The next page of a list, if there is one. */
export const More = ({ query }: { query: Pages }) =>
  query.hasNextPage && (
    <Button
      className="mt-5 justify-self-start"
      busy={query.isFetchingNextPage}
      onClick={() => void query.fetchNextPage()}
    >
      Show more
    </Button>
  )
