import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useActivity } from '../api/activity.ts'
import type { ActivityEntry } from '../api/contract.ts'
import { SCREENS, useCompany } from '../shell/company.ts'
import { NotForYou } from '../shell/NotForYou.tsx'
import { Page } from '../shell/Page.tsx'
import { Ago, useNow } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'
import { clockShort, day } from '../ui/time.ts'
import './activity.css'

export default function ActivityScreen() {
  const company = useCompany()
  return (
    <Page
      title="Activity"
      section="Company"
      lede="Who created, revoked and saved what, and when. Nothing here can be changed."
    >
      {company.mayManage ? (
        <Entries />
      ) : (
        <NotForYou what="Activity">
          It tells of clients and destinations, and so is for those who manage them.
        </NotForYou>
      )}
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
            <p className="empty-line">Nothing has happened yet. Creating a client will be the first entry.</p>
          )
        }
        return (
          <>
            {byDay(entries).map(([title, ofDay]) => (
              <Day key={title} title={title} entries={ofDay} />
            ))}
            {query.hasNextPage && (
              <Button
                className="more"
                busy={query.isFetchingNextPage}
                onClick={() => void query.fetchNextPage()}
              >
                Show more
              </Button>
            )}
          </>
        )
      }}
    </Loaded>
  )
}

function byDay(entries: ActivityEntry[]): [string, ActivityEntry[]][] {
  return [...Map.groupBy(entries, (entry) => day(new Date(entry.at)))]
}

function Day({ title, entries }: { title: string; entries: ActivityEntry[] }) {
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
              <bdi className="strong">{entry.by?.name ?? 'operator'}</bdi> <Said entry={entry} />
              {today && (
                <span className="quiet small">
                  {' '}
                  <Ago at={entry.at} />
                </span>
              )}
            </p>
          </li>
        ))}
      </ol>
    </section>
  )
}

function Said({ entry }: { entry: ActivityEntry }) {
  if (entry.action === 'client.created')
    return (
      <>
        created the client <Client entry={entry} />
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
        saved the callback destination at <code className="wrap">{entry.subject}</code>
      </>
    )
  }
  return (
    <>
      {entry.action} <code className="wrap">{entry.subject}</code>
    </>
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
