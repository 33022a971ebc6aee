import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { useLocation } from 'wouter'
import type { ListedSession } from '../api/contract.ts'
import { ApiProblem } from '../api/request.ts'
import { endSession, invalidateSessions, useSessions } from '../api/resources.ts'
import { idleTime, signOutEverywhere, useSignedIn } from '../api/session.ts'
import { Ago } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { Dialog, DialogFoot } from '../ui/Dialog.tsx'
import { explain } from '../ui/explain.ts'
import { Loaded } from '../ui/Loaded.tsx'
import { Moment } from '../ui/Moment.tsx'
import { More } from '../ui/More.tsx'
import { FailureNotice } from '../ui/Notice.tsx'
import { Skeleton } from '../ui/Skeleton.tsx'
import { say } from '../ui/say.ts'
import { browserName } from './user-agent.ts'

/** Where this person is signed in, and ways to end one of it or all. */
export function Sessions({ onClose }: { onClose: () => void }) {
  const query = useSessions()
  const list = useRef<HTMLUListElement>(null)
  const [, navigate] = useLocation()
  const { isPending, error, mutate } = useMutation({
    async mutationFn() {
      await signOutEverywhere()
      navigate('/')
    },
  })
  return (
    <Dialog
      title="Your sessions"
      description={`Each ends after 12 hours, or after ${idleTime(useSignedIn())} without use. If you do not recognise one, sign out everywhere and change your password.`}
      onClose={onClose}
      canClose={!isPending}
    >
      <Loaded query={query} skeleton={<Skeleton lines={4} />}>
        {({ pages }) => (
          <>
            <ul
              className="grid divide-y divide-line border-y border-line border-t-line-strong"
              ref={list}
              tabIndex={-1}
              aria-label="Your sessions"
            >
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
      <FailureNotice failure={explain(error, { title: 'You may still be signed in elsewhere' })} />
      <DialogFoot>
        <p className="me-auto text-start text-sm text-muted">This ends every session, this one too.</p>
        <Button variant="danger" busy={isPending} onClick={() => mutate()}>
          Sign out everywhere
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

function OneSession({ session, onEnded }: { session: ListedSession; onEnded: () => void }) {
  const { sessionId, createdAt, lastSeenAt, address, userAgent, current } = session
  const { isPending, error, mutate } = useMutation({
    async mutationFn() {
      await endSession(sessionId).catch((error: unknown) => {
        // It has ended already.
        if (!(error instanceof ApiProblem && error.status === 404)) throw error
      })
      await invalidateSessions()
      onEnded()
    },
  })
  return (
    <li
      className={`wrap-anywhere grid gap-0.5 py-3 ${current ? 'ps-3 shadow-[inset_3px_0_0_var(--mark)]' : ''}`}
    >
      <p className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
        <bdi className="font-strong" title={userAgent ?? undefined}>
          {browserName(userAgent)}
        </bdi>
        {current && <span className="rounded-md bg-mark-soft px-1.5 text-sm">This session</span>}
      </p>
      <p className="text-sm text-muted first-letter:uppercase">
        {address && say`From ${<code>{address}</code>}, `}
        {current ? 'in use now' : say`last used ${<Ago at={lastSeenAt} />}`}
      </p>
      <p className="text-sm text-muted">
        Signed in <Moment at={createdAt} />
      </p>
      {!current && (
        <Button
          busy={isPending}
          className="mt-1.5 justify-self-start"
          aria-label={`End session of ${browserName(userAgent)}`}
          onClick={() => mutate()}
        >
          End session
        </Button>
      )}
      <FailureNotice failure={explain(error, { title: 'This session may not have ended' })} />
    </li>
  )
}
