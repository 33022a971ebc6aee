import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { readAllActivity, useActivity } from '../api/activity.ts'
import type { ActivityEntry } from '../api/contract.ts'
import { SCREENS, useCompany } from '../shell/company.ts'
import { Page } from '../shell/Page.tsx'
import { Ago, useNow } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { download } from '../ui/csv.ts'
import { DownloadIcon } from '../ui/icons.tsx'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'
import { More } from '../ui/More.tsx'
import { Notice } from '../ui/Notice.tsx'
import { useSubmission } from '../ui/submit.ts'
import { clockShort, day } from '../ui/time.ts'
import { csvOfActivity } from './csv.ts'
import './activity.css'

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

export default function ActivityScreen() {
  return (
    <Page
      title="Activity"
      section="Company"
      lede={`Who created, revoked and saved what, and when. Times are in ${ZONE}.`}
      actions={<ExportButton />}
    >
      <Entries />
    </Page>
  )
}

function Entries() {
  const { vendorId } = useCompany()
  const query = useActivity(vendorId)
  return (
    <Loaded query={query} skeleton={<Skeleton lines={9} />}>
      {({ pages }) => {
        const entries = pages.flatMap((page) => page.entries)
        if (entries.length === 0) {
          return (
            <p className="empty-line">Nothing has happened yet. Your first client will be the first entry.</p>
          )
        }
        const formerHosts = formerHostsOf(entries)
        return (
          <>
            {byDay(entries).map(([title, ofDay]) => (
              <Day key={title} title={title} entries={ofDay} formerHosts={formerHosts} />
            ))}
            <More query={query} />
          </>
        )
      }}
    </Loaded>
  )
}

/** By entry: the host that a saved destination took the place of, when that entry is loaded too. */
function formerHostsOf(entries: readonly ActivityEntry[]): Map<string, string> {
  const saved = entries.filter(({ action }) => action === 'callback.saved')
  return new Map(saved.slice(0, -1).map(({ entryId }, index) => [entryId, saved[index + 1]?.subject ?? '']))
}

function ExportButton() {
  const { vendorId } = useCompany()
  const { busy, failure, run } = useSubmission((error) => ({
    title: 'The activity was not exported',
    text: (error as Error).message,
  }))
  async function save(): Promise<void> {
    const entries = await readAllActivity(vendorId)
    download(`activity_${vendorId}_${entries[0]?.at.slice(0, 10) ?? 'empty'}.csv`, csvOfActivity(entries))
  }
  return (
    <>
      <Button icon={<DownloadIcon />} busy={busy} onClick={() => void run(save)}>
        Export all as CSV
      </Button>
      {failure && (
        <Notice tone="bad" title={failure.title} live>
          {failure.text}
        </Notice>
      )}
    </>
  )
}

function byDay(entries: ActivityEntry[]): [string, ActivityEntry[]][] {
  return [...Map.groupBy(entries, (entry) => day(new Date(entry.at)))]
}

interface DayProps {
  title: string
  entries: ActivityEntry[]
  formerHosts: ReadonlyMap<string, string>
}

function Day({ title, entries, formerHosts }: DayProps) {
  const now = useNow()
  const today = title === day(now)
  return (
    <section className="activity-day">
      <h2>{today ? 'Today' : title}</h2>
      <ol>
        {entries.map((entry) => (
          <li key={entry.entryId} className={`activity-entry activity-${entry.action.split('.').at(-1)}`}>
            <time className="activity-time" dateTime={entry.at}>
              {clockShort(new Date(entry.at))}
            </time>
            <p>
              <bdi className="strong">{entry.by.name}</bdi>{' '}
              <Said entry={entry} formerHost={formerHosts.get(entry.entryId)} />
              {today && (
                <span className="quiet small">
                  {' '}
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

function Said({ entry, formerHost }: { entry: ActivityEntry; formerHost: string | undefined }) {
  const { to } = useCompany()
  if (entry.action === 'client.created')
    return (
      <>
        created the client <Client entry={entry} />
      </>
    )
  if (entry.action === 'client.renamed')
    return (
      <>
        renamed the client <bdi>{nameIn(entry.detail.before)}</bdi> to{' '}
        <Link href={`${to(SCREENS.clients)}/${entry.subject}`}>
          <bdi>{nameIn(entry.detail.after)}</bdi>
        </Link>
      </>
    )
  if (entry.action === 'client.revoked')
    return (
      <>
        revoked the client <Client entry={entry} />
      </>
    )
  if (entry.action === 'callback.saved') {
    return (
      <>
        {formerHost === undefined || formerHost === entry.subject ? (
          'saved the webhook destination at '
        ) : (
          <>
            changed the webhook destination from <code className="wrap">{formerHost}</code> to{' '}
          </>
        )}
        <code className="wrap">{entry.subject}</code>
      </>
    )
  }
  return (
    <>
      {entry.action} <code className="wrap">{entry.subject}</code>
    </>
  )
}

/** The name in what was before a change, or is after it. */
const nameIn = (detail: unknown): string =>
  typeof detail === 'object' && detail !== null && 'name' in detail ? String(detail.name) : ''

function GivenScopes({ entry: { detail } }: { entry: ActivityEntry }) {
  if (!Array.isArray(detail.scopes)) return null
  return (
    <span className="activity-detail small">
      {detail.scopes.map((scope) => (
        <code key={scope}>{scope}</code>
      ))}
    </span>
  )
}

function Client({ entry }: { entry: ActivityEntry }): ReactNode {
  const { to } = useCompany()
  const name = typeof entry.detail.name === 'string' ? entry.detail.name : undefined
  return (
    <Link href={`${to(SCREENS.clients)}/${entry.subject}`}>
      {name ? <bdi>{name}</bdi> : <code className="wrap">{entry.subject}</code>}
    </Link>
  )
}
