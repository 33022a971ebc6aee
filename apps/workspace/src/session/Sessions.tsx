import { useRef } from 'react'
import { useLocation } from 'wouter'
import type { ListedSession } from '../api/contract.ts'
import { queryClient } from '../api/query.ts'
import { ApiProblem } from '../api/request.ts'
import { endSession, useSessions } from '../api/resources.ts'
import { signOutEverywhere } from '../api/session.ts'

import { Ago, Moment } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { FailureNotice } from '../ui/FailureNotice.tsx'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'
import { More } from '../ui/More.tsx'
import { useSubmission } from '../ui/submit.ts'
import { browserOf } from './user-agent.ts'
import './sessions.css'

/** Where this person is signed in, and ways to end one of it or all. */
export function Sessions({ onClose }: { onClose: () => void }) {
  const query = useSessions()
  const list = useRef<HTMLUListElement>(null)
  const [, navigate] = useLocation()
  const { busy, failure, run } = useSubmission((error) => ({
    title: 'You may still be signed in elsewhere',
    text: `${(error as Error).message} Try again.`,
  }))
  async function leaveEverywhere(): Promise<void> {
    await signOutEverywhere()
    navigate('/')
  }
  return (
    <Dialog
      title="Your sessions"
      description="Each lasts 12 hours at most. If you do not recognise one, sign out everywhere and change your password."
      onClose={onClose}
      held={busy}
    >
      <Loaded query={query} skeleton={<Skeleton lines={4} />}>
        {({ pages }) => (
          <>
            <ul className="lined" ref={list} tabIndex={-1} aria-label="Your sessions">
              {pages
                .flatMap(({ sessions }) => sessions)
                .map((session) => (
                  <OneSession
                    key={session.sessionId}
                    session={session}
                    onEnded={() => list.current?.focus()}
                  />
                ))}
            </ul>
            <More query={query} />
          </>
        )}
      </Loaded>
      <FailureNotice failure={failure} />
      <footer className="dialog-foot">
        <p className="small quiet sessions-all">This ends every session, this one too.</p>
        <Button variant="danger" busy={busy} onClick={() => void run(leaveEverywhere)}>
          Sign out everywhere
        </Button>
      </footer>
    </Dialog>
  )
}

function OneSession({
  session: { sessionId, createdAt, lastSeenAt, address, userAgent, current },
  onEnded,
}: {
  session: ListedSession
  onEnded: () => void
}) {
  const { busy, failure, run } = useSubmission((error) => ({
    title: 'This session may not have ended',
    text: `${(error as Error).message} Try again.`,
  }))
  async function end(): Promise<void> {
    await endSession(sessionId).catch((error: unknown) => {
      // It has ended already.
      if (!(error instanceof ApiProblem && error.status === 404)) throw error
    })
    await queryClient.invalidateQueries({ queryKey: ['sessions'] })
    onEnded()
  }
  return (
    <li className={current ? 'session session-current' : 'session'}>
      <p className="session-name">
        <bdi className="strong" title={userAgent ?? undefined}>
          {browserOf(userAgent)}
        </bdi>
        {current && <span className="session-here">This session</span>}
      </p>
      <p className="small quiet">
        {address && (
          <>
            From <code>{address}</code>,{' '}
          </>
        )}
        {current ? (
          'in use now'
        ) : (
          <>
            last used <Ago at={lastSeenAt} />
          </>
        )}
      </p>
      <p className="small quiet">
        Signed in <Moment at={createdAt} />
      </p>
      {!current && (
        <Button
          busy={busy}
          className="session-end"
          aria-label={`End session of ${browserOf(userAgent)}`}
          onClick={() => void run(end)}
        >
          End session
        </Button>
      )}
      <FailureNotice failure={failure} />
    </li>
  )
}
