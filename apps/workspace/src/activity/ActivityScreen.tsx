import { useMutation } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link } from 'wouter'
import { actorName } from '#shared/rules/actors.ts'
import { useClock, useCompany } from '../api/company.ts'
import type { ActivityEntry } from '../api/contract.ts'
import { type ActivityQuery as Filter, readAllActivity, useActivity } from '../api/resources.ts'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { downloadCsv } from '../ui/download.ts'
import { explain } from '../ui/explain.ts'
import { DownloadIcon } from '../ui/icons.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { More } from '../ui/More.tsx'
import { FailureNotice } from '../ui/Notice.tsx'
import { useTimed } from '../ui/now.ts'
import { Skeleton } from '../ui/Skeleton.tsx'
import { say } from '../ui/say.ts'
import { useSearch } from '../ui/search.ts'
import { Time } from '../ui/Time.tsx'
import { ActivityFilters } from './ActivityFilters.tsx'
import { ACTIONS, textsIn } from './actions.ts'
import { activityCsv } from './csv.ts'
import { FILTERS, toActivityQuery } from './filters.ts'

const PAGES_WITHOUT_ENTRY_MAX = 10

export default function ActivityScreen() {
  const [filters, setFilters] = useSearch(FILTERS)
  const { day, zone } = useClock()
  const filter = toActivityQuery(filters, zone)
  const isFiltered = Object.keys(filter).length > 0
  const query = useActivity(filter)
  const pages = query.data?.pages ?? []
  const entries = pages.flatMap((page) => page.entries)
  const { hasNextPage, isFetching, isError, fetchNextPage } = query
  const mayGoOn = hasNextPage && !isFetching && !isError
  // A page may be empty although an earlier one is not. After ten or a failure, the button is there to go on.
  const goesOn = mayGoOn && entries.length === 0 && pages.length < PAGES_WITHOUT_ENTRY_MAX
  useEffect(() => {
    if (goesOn) void fetchNextPage()
  }, [goesOn, fetchNextPage])
  return (
    <Page
      title="Activity"
      section="Company"
      lede="Who changed clients, the callback URL and people, and when."
      actions={<ExportButton filter={filter} />}
    >
      <ActivityFilters filters={filters} entries={entries} onFilter={setFilters} />
      <Loaded query={query} skeleton={<Skeleton lines={9} />}>
        {() => (
          <div aria-busy={query.isPlaceholderData} className="aria-busy:opacity-60">
            {entries.length === 0 && (
              <p className="py-7 text-ink-2">
                {isFiltered
                  ? hasNextPage
                    ? 'Nothing lately matches these filters.'
                    : 'Nothing matches these filters.'
                  : 'Nothing has happened yet. Changes to clients, the callback URL and people will appear here.'}
              </p>
            )}
            {[...Map.groupBy(entries, ({ at }) => day(new Date(at)))].map(([title, ofDay]) => (
              <Day key={title} title={title} entries={ofDay} />
            ))}
            <More query={query} />
            <p className="sr-only" role="status">
              {isFiltered &&
                !query.isPlaceholderData &&
                `${entries.length}${hasNextPage ? ' or more' : ''} found`}
            </p>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function ExportButton({ filter }: { filter: Filter }) {
  const { vendorId } = useCompany()
  const shown = JSON.stringify(filter)
  const { isPending, error, variables, mutate } = useMutation({
    async mutationFn(_shown: string) {
      const entries = await readAllActivity(vendorId, filter)
      downloadCsv(`activity_${vendorId}_${entries[0]?.at.slice(0, 10) ?? 'empty'}.csv`, activityCsv(entries))
    },
  })
  const failed = variables === shown ? error : null
  return (
    <>
      <Button icon={<DownloadIcon />} busy={isPending} onClick={() => mutate(shown)}>
        {Object.keys(filter).length > 0 ? 'Export these as CSV' : 'Export all as CSV'}
      </Button>
      <FailureNotice failure={explain(failed, { title: 'The activity was not exported' })} />
    </>
  )
}

function Day({ title, entries }: { title: string; entries: ActivityEntry[] }) {
  const { day } = useClock()
  const today = useTimed((now) => title === day(now))
  return (
    <section className="grid grid-cols-1 gap-x-6 gap-y-2 border-t border-line-strong py-5 md:grid-cols-[160px_minmax(0,1fr)]">
      <h2 className="text-base">{today ? 'Today' : title}</h2>
      <ol className="grid gap-3.5">
        {entries.map((entry) => (
          <Entry key={entry.entryId} entry={entry} />
        ))}
      </ol>
    </section>
  )
}

/** Who did what, in a sentence. */
function Entry({ entry }: { entry: ActivityEntry }) {
  const { to } = useCompany()
  const { at, by, action, subject } = entry
  const detail = textsIn(entry.detail)
  const [before, after] = [textsIn(entry.detail.before), textsIn(entry.detail.after)]
  const name = after.name ?? detail.name
  const id = <code className="wrap-anywhere">{subject}</code>
  // The service may be newer than this page.
  const [, mark, sentence] = ACTIONS[action] ?? ['', 'border-line-strong', () => say`${action} ${id}`]
  return (
    <li className="grid grid-cols-[52px_minmax(0,1fr)] gap-4">
      <span className="pt-px font-mono text-md text-muted">
        <Time at={at} format="time" />
      </span>
      <p className={`wrap-anywhere border-s-3 ps-4 ${mark}`}>
        <bdi className="font-strong">{actorName(by, 'The')}</bdi>{' '}
        {sentence({
          subject: id,
          client: <Link href={to('client', subject)}>{name ? <bdi>{name}</bdi> : id}</Link>,
          person: <bdi className="font-strong">{name ?? subject}</bdi>,
          hostBefore: <code className="wrap-anywhere">{before.host}</code>,
          ...{ detail, before, after },
          replaced: textsIn(entry.detail.replaces),
        })}
      </p>
    </li>
  )
}
