import { useEffect } from 'react'
import { useSearchParams } from 'wouter'
import { useCompany } from '../api/company.ts'
import type { ActivityEntry } from '../api/contract.ts'
import { type ActivityFilter as Filter, readAllActivity, useActivity } from '../api/resources.ts'
import { clockShort, day } from '../api/time.ts'
import { Page } from '../shell/Page.tsx'
import { Ago, Time, useNow } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { downloadCsv } from '../ui/download.ts'
import { DownloadIcon } from '../ui/icons.tsx'
import { Loaded, More, Skeleton } from '../ui/Loaded.tsx'
import { FailureNotice } from '../ui/Notice.tsx'
import { useSubmission } from '../ui/submit.ts'
import { ActivityFilter } from './ActivityFilter.tsx'
import { ActivityText } from './ActivityText.tsx'
import { csvOfActivity } from './csv.ts'
import { filterOf, filtersIn, searchFor } from './filters.ts'

export default function ActivityScreen() {
  const [search] = useSearchParams()
  return (
    <Page
      title="Activity"
      section="Company"
      lede="Who changed clients, the callback URL and people, and when."
      actions={<ExportButton filter={filterOf(filtersIn(search))} />}
    >
      <Entries />
    </Page>
  )
}

function Entries() {
  const [search, setSearch] = useSearchParams()
  const filters = filtersIn(search)
  const filter = filterOf(filters)
  const filtered = Object.keys(filter).length > 0
  const query = useActivity(filter)
  const pages = query.data?.pages ?? []
  const entries = pages.flatMap((page) => page.entries)
  useEarlierPages(query, pages.length, entries.length)
  return (
    <>
      <ActivityFilter
        filters={filters}
        entries={entries}
        onFilter={(next) => setSearch(searchFor(next), { replace: true })}
      />
      <Loaded query={query} skeleton={<Skeleton lines={9} />}>
        {() => (
          <div aria-busy={query.isPlaceholderData} className="aria-busy:opacity-60">
            {entries.length === 0 && (
              <p className="py-7 text-ink-2">
                {filtered
                  ? query.hasNextPage
                    ? 'Nothing lately matches these filters.'
                    : 'Nothing matches these filters.'
                  : 'Nothing has happened yet. Your first client will be the first entry.'}
              </p>
            )}
            {byDay(entries).map(([title, ofDay]) => (
              <Day key={title} title={title} entries={ofDay} />
            ))}
            <More query={query} />
            <p className="off-screen" role="status">
              {filtered &&
                !query.isPlaceholderData &&
                `${entries.length}${query.hasNextPage ? ' or more' : ''} found`}
            </p>
          </div>
        )}
      </Loaded>
    </>
  )
}

const PAGES_WITHOUT_ENTRY_MAX = 10

/** A page may be empty although an earlier one is not. After ten, the button is there to go on. */
function useEarlierPages(
  { hasNextPage, isFetching, fetchNextPage }: ReturnType<typeof useActivity>,
  pages: number,
  entries: number,
): void {
  const goesOn = hasNextPage && !isFetching && entries === 0 && pages < PAGES_WITHOUT_ENTRY_MAX
  useEffect(() => {
    if (goesOn) void fetchNextPage()
  }, [goesOn, fetchNextPage])
}

function ExportButton({ filter }: { filter: Filter }) {
  const { vendorId } = useCompany()
  const { isPending, failure, run } = useSubmission({ title: 'The activity was not exported' })
  async function save(): Promise<void> {
    const entries = await readAllActivity(vendorId, filter)
    downloadCsv(`activity_${vendorId}_${entries[0]?.at.slice(0, 10) ?? 'empty'}.csv`, csvOfActivity(entries))
  }
  return (
    <>
      <Button icon={<DownloadIcon />} busy={isPending} onClick={() => void run(save)}>
        {Object.keys(filter).length > 0 ? 'Export these as CSV' : 'Export all as CSV'}
      </Button>
      <FailureNotice failure={failure} />
    </>
  )
}

const byDay = (entries: ActivityEntry[]): [string, ActivityEntry[]][] => [
  ...Map.groupBy(entries, (entry) => day(new Date(entry.at))),
]

/** What was added and what was taken away, by the last part of its action. */
const EDGES: Readonly<Record<string, string>> = {
  created: 'border-good',
  invited: 'border-good',
  joined: 'border-good',
  revoked: 'border-bad',
  secret_found: 'border-bad',
  password_reset: 'border-bad',
  removed: 'border-bad',
  withdrawn: 'border-bad',
}

function Day({ title, entries }: { title: string; entries: ActivityEntry[] }) {
  const now = useNow()
  const today = title === day(now)
  return (
    <section className="grid grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-2 border-t border-line-strong py-5 min-[721px]:grid-cols-[160px_minmax(0,1fr)]">
      <h2 className="text-[15px]">{today ? 'Today' : title}</h2>
      <ol className="grid gap-3.5">
        {entries.map((entry) => (
          <li key={entry.entryId} className="grid grid-cols-[52px_minmax(0,1fr)] gap-4">
            <span className="pt-px font-mono text-[14px] text-ink-3">
              <Time at={entry.at} format={clockShort} />
            </span>
            <p
              className={`border-s-3 ps-4 ${EDGES[entry.action.split('.')[1] ?? ''] ?? 'border-line-strong'}`}
            >
              <bdi className="strong">{actorName(entry)}</bdi> <ActivityText entry={entry} />
              {today && (
                <span className="quiet small">
                  {' · '}
                  <Ago at={entry.at} />
                </span>
              )}
              <GivenScopes entry={entry} />
            </p>
          </li>
        ))}
      </ol>
    </section>
  )
}

const actorName = ({ by }: ActivityEntry): string => (by.userId === null ? `The ${by.name}` : by.name)

function GivenScopes({ entry: { detail } }: { entry: ActivityEntry }) {
  if (!Array.isArray(detail.scopes)) return null
  return (
    <span className="small flex flex-wrap gap-x-3 text-ink-3">
      {detail.scopes.map((scope) => (
        <code key={scope}>{scope}</code>
      ))}
    </span>
  )
}
