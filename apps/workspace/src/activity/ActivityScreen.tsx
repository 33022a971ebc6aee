import { Fragment, type ReactNode, useEffect } from 'react'
import { Link, useSearchParams } from 'wouter'
import { ROLE_NAMES, roleName, SCREENS, useClock, useCompany } from '../api/company.ts'
import type { ActivityEntry, Role } from '../api/contract.ts'
import { type ActivityQuery as Filter, readAllActivity, useActivity } from '../api/resources.ts'
import { Page } from '../shell/Page.tsx'
import { Time, useNow } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { downloadCsv } from '../ui/download.ts'
import { DownloadIcon } from '../ui/icons.tsx'
import { Loaded, More, Skeleton } from '../ui/Loaded.tsx'
import { FailureNotice } from '../ui/Notice.tsx'
import { useSubmission } from '../ui/submit.ts'
import { ActivityFilters } from './ActivityFilters.tsx'
import { activityCsv } from './csv.ts'
import { filterParams, filtersIn, toActivityQuery } from './filters.ts'

export default function ActivityScreen() {
  const [search] = useSearchParams()
  const { zone } = useClock()
  return (
    <Page
      title="Activity"
      section="Company"
      lede="Who changed clients, the callback URL and people, and when."
      actions={<ExportButton filter={toActivityQuery(filtersIn(search), zone)} />}
    >
      <Entries />
    </Page>
  )
}

function Entries() {
  const [search, setSearch] = useSearchParams()
  const filters = filtersIn(search)
  const { day, zone } = useClock()
  const filter = toActivityQuery(filters, zone)
  const isFiltered = Object.keys(filter).length > 0
  const query = useActivity(filter)
  const pages = query.data?.pages ?? []
  const entries = pages.flatMap((page) => page.entries)
  useEarlierPages(query, pages.length, entries.length)
  return (
    <>
      <ActivityFilters
        filters={filters}
        entries={entries}
        onFilter={(next) => setSearch(filterParams(next), { replace: true })}
      />
      <Loaded query={query} skeleton={<Skeleton lines={9} />}>
        {() => (
          <div aria-busy={query.isPlaceholderData} className="aria-busy:opacity-60">
            {entries.length === 0 && (
              <p className="py-7 text-ink-2">
                {isFiltered
                  ? query.hasNextPage
                    ? 'Nothing lately matches these filters.'
                    : 'Nothing matches these filters.'
                  : 'Nothing has happened yet. Your first client will be the first entry.'}
              </p>
            )}
            {[...Map.groupBy(entries, ({ at }) => day(new Date(at)))].map(([title, ofDay]) => (
              <Day key={title} title={title} entries={ofDay} />
            ))}
            <More query={query} />
            <p className="off-screen" role="status">
              {isFiltered &&
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
    downloadCsv(`activity_${vendorId}_${entries[0]?.at.slice(0, 10) ?? 'empty'}.csv`, activityCsv(entries))
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
  const { day } = useClock()
  const today = title === day(useNow())
  return (
    <section className="grid grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-2 border-t border-line-strong py-5 min-[721px]:grid-cols-[160px_minmax(0,1fr)]">
      <h2 className="text-[15px]">{today ? 'Today' : title}</h2>
      <ol className="grid gap-3.5">
        {entries.map((entry) => (
          <li key={entry.entryId} className="grid grid-cols-[52px_minmax(0,1fr)] gap-4">
            <span className="pt-px font-mono text-[14px] text-ink-3">
              <Time at={entry.at} format="time" />
            </span>
            <p
              className={`border-s-3 ps-4 ${EDGES[entry.action.split('.')[1] ?? ''] ?? 'border-line-strong'}`}
            >
              <bdi className="strong">{actorName(entry)}</bdi> <ActivityText entry={entry} />
            </p>
          </li>
        ))}
      </ol>
    </section>
  )
}

const actorName = ({ by }: ActivityEntry): string => (by.userId === null ? `The ${by.name}` : by.name)

/** What happened, as the rest of a sentence that begins with who did it. */
function ActivityText({ entry }: { entry: ActivityEntry }): ReactNode {
  const { to } = useCompany()
  const { subject, detail } = entry
  const { before, after } = detail
  const name = textIn(after, 'name') ?? textIn(detail, 'name')
  const id = <code className="wrap">{subject}</code>
  const parts: Record<string, ReactNode> = {
    subject: id,
    client: <Link href={`${to(SCREENS.clients)}/${subject}`}>{name ? <bdi>{name}</bdi> : id}</Link>,
    person: <bdi className="strong">{name ?? subject}</bdi>,
    nameBefore: <bdi>{textIn(before, 'name')}</bdi>,
    hostBefore: <code className="wrap">{textIn(before, 'host')}</code>,
    role: roleIn(detail),
    roleBefore: roleIn(before),
    roleAfter: roleIn(after),
    source: <bdi className="wrap">{textIn(detail, 'source')}</bdi>,
    file: <bdi className="wrap">{textIn(detail, 'file')}</bdi>,
  }
  return describeEntry(entry)
    .split(/\{(\w+)\}/)
    .map((text, index) => (index % 2 === 0 ? text : <Fragment key={text}>{parts[text]}</Fragment>))
}

const SENTENCES: Readonly<Record<string, string>> = {
  'client.created': 'created the client {client}',
  'client.renamed': 'renamed the client {nameBefore} to {client}',
  'client.revoked': 'revoked the client {client}',
  'client.secret_found': 'marked the secret of the client {client} as found',
  'workload_issuer.keys_replaced': 'replaced the keys of the issuer {subject}',
  'company.created': 'created the company',
  'person.added': 'added {person} as {role}',
  'person.invited': 'invited {person} as {role}',
  'person.linked': 'linked this account to the OpenID provider',
  'person.unlinked': 'unlinked the account of {person} from the OpenID provider',
  'person.password_reset': 'set a new password for {person} and ended all sessions of that account',
  'person.removed': 'removed {person}, whose role was {role}',
  'person.erased': 'erased what was stored about {person}',
  'address.claimed':
    'ended the sessions of {person}, because someone accepted another company’s invitation to the same address with another password',
  'invitation.withdrawn': 'withdrew the invitation of {person} as {role}',
  'analytics.imported': 'imported reported events from the file {file}',
}

/** The sentence of an entry, with the names of its parts in braces. It never has text that a person wrote. */
function describeEntry({ action, subject, detail }: ActivityEntry): string {
  const { before, after, through } = detail
  const byProvider = through === 'openid'
  if (action === 'person.joined')
    return byProvider
      ? 'joined as {role} by signing in with the OpenID provider'
      : 'accepted the invitation and joined as {role}'
  if (action === 'callback.saved') {
    const host = textIn(before, 'host')
    if (host === undefined) return 'saved the callback URL at {subject}'
    return host === subject
      ? 'saved the callback URL, which is still at {subject}'
      : 'changed the callback URL from {hostBefore} to {subject}'
  }
  if (action === 'client.secret_found' && textIn(detail, 'source') !== undefined)
    return `${SENTENCES[action]} at {source}`
  if (action === 'client.revoked' && textIn(detail, 'reason') === 'secret_found')
    return `${SENTENCES[action]}, because its secret was found`
  if (action !== 'person.changed') return SENTENCES[action] ?? `${action} {subject}`
  if (byProvider)
    return 'signed in with the OpenID provider, which changed the role from {roleBefore} to {roleAfter}'
  if (textIn(before, 'role') === textIn(after, 'role'))
    return textIn(after, 'status') === 'suspended' ? 'suspended {person}' : 'ended the suspension of {person}'
  if (textIn(after, 'role') === 'owner') return 'made {person} the owner'
  return 'changed {person} from {roleBefore} to {roleAfter}'
}

function textIn(detail: unknown, member: string): string | undefined {
  const value =
    typeof detail === 'object' && detail !== null && Object.entries(detail).find(([key]) => key === member)
  return value && typeof value[1] === 'string' ? value[1] : undefined
}

const ROLES = Object.keys(ROLE_NAMES) as Role[]

/** "Admin, suspended". */
function roleIn(detail: unknown): string {
  const text = textIn(detail, 'role') ?? 'member'
  const role = ROLES.find((name) => name === text)
  if (role === undefined) return text
  return roleName({ role, status: textIn(detail, 'status') === 'suspended' ? 'suspended' : 'active' })
}
