import { type ReactNode, useState } from 'react'
import { QUIET_DAYS_MAX } from '#shared/oauth/client-rules.ts'
import { changeRotation } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { ClientRotation, OAuthClient } from '../api/contract.ts'
import { reread } from '../api/query.ts'
import { weekdayTime } from '../api/time.ts'
import { Moment, Time, useNow } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { FailureNotice, Notice } from '../ui/Notice.tsx'
import { say } from '../ui/say.tsx'
import { useSubmission } from '../ui/submit.ts'
import { quietEnd } from './quiet.ts'
import { RevokeClient } from './RevokeClient.tsx'

type Armed = NonNullable<ClientRotation['armed']>

export interface RevokeOldProps {
  old: OAuthClient
  /** undefined: not known right now. */
  rotation: ClientRotation | undefined
}

/** Revokes the old client now, or lets the service do it after days without use; and what was refused since. */
export function RevokeOld({ old, rotation }: RevokeOldProps) {
  const [revoking, setRevoking] = useState(false)
  return (
    <section className="section" aria-labelledby="revoke-title">
      <h2 id="revoke-title">
        {old.status === 'Active' ? 'Revoke the old client' : 'The old client is revoked'}
      </h2>
      {old.status === 'Active' ? (
        <>
          {rotation && <Arming old={old} rotation={rotation} />}
          <p className="page-actions">
            <Button variant="danger" onClick={() => setRevoking(true)}>
              Revoke now
            </Button>
          </p>
        </>
      ) : (
        <Refused old={old} rotation={rotation} />
      )}
      {revoking && <RevokeClient client={old} onClose={() => setRevoking(false)} />}
    </section>
  )
}

function Arming({
  old,
  rotation: { armed, old: seen, replacement },
}: {
  old: OAuthClient
  rotation: ClientRotation
}) {
  const { vendorId } = useCompany()
  const [days, setDays] = useState('7')
  const submission = useSubmission({ title: 'It is not known whether that changed anything' })
  const change = (body: Parameters<typeof changeRotation>[2]) =>
    submission.run(async () => {
      try {
        await changeRotation(vendorId, old.clientId, body)
      } catch (error) {
        void reread(vendorId, 'oauth-clients', old.clientId, 'rotation')
        throw error
      }
    })
  const arm = { armed: { quietDays: Number(days) } }
  return (
    <>
      {armed ? (
        <ArmedNotice
          armed={armed}
          actions={
            <Button busy={submission.isPending} onClick={() => change({ armed: null })}>
              Disarm
            </Button>
          }
        />
      ) : (
        <QuietDays
          days={days}
          onDays={setDays}
          since={{ lastUsedAt: seen.lastUsedAt, createdAt: old.createdAt }}
          replacementUsed={replacement !== null && replacement.lastUsedAt !== null}
          busy={submission.isPending}
          onArm={() => change(arm)}
        />
      )}
      <FailureNotice failure={submission.failure} />
    </>
  )
}

interface QuietDaysProps {
  days: string
  onDays: (days: string) => void
  since: Pick<OAuthClient, 'lastUsedAt' | 'createdAt'>
  replacementUsed: boolean
  busy: boolean
  onArm: () => void
}

function QuietDays({ days, onDays, since, replacementUsed, busy, onArm }: QuietDaysProps) {
  const now = useNow()
  const isCount = /^[1-9]\d?$/.test(days) && Number(days) <= QUIET_DAYS_MAX
  const end = quietEnd(since, isCount ? Number(days) : 0)
  const unavailable = !isCount
    ? `Choose 1 to ${QUIET_DAYS_MAX} days.`
    : end <= now
      ? 'It has already gone unused for that long. Revoke it now, or choose more days.'
      : undefined
  return (
    <>
      <p className="flex flex-wrap items-center gap-x-2 gap-y-3">
        <label className="flex items-center gap-2">
          Revoke after
          <input
            className="input w-20"
            type="number"
            min={1}
            max={QUIET_DAYS_MAX}
            value={days}
            onChange={({ target }) => onDays(target.value)}
            aria-describedby="quiet-end"
          />
          days without use
        </label>
        <Button busy={busy} unavailable={unavailable} onUnavailable={() => {}} onClick={onArm}>
          Arm
        </Button>
      </p>
      <p id="quiet-end" className="small quiet prose">
        {unavailable ??
          say`That is on ${<Time at={end.toISOString()} format={weekdayTime} inSentence />} at the earliest. Each use before then restarts the count.`}
        {!unavailable && !replacementUsed && ` ${POSTPONED.replacement_unused}`}
      </p>
    </>
  )
}

const POSTPONED: Record<NonNullable<Armed['postponed']>, string> = {
  replacement_unused: 'Nothing is revoked before the replacement has been used.',
  uses_may_be_missing:
    'Some uses may not have been counted, so the days begin with the last moment at which that was possible.',
}

function ArmedNotice({ armed, actions }: { armed: Armed; actions: ReactNode }) {
  const { quietDays, revokesAt, postponed } = armed
  const now = useNow()
  const ahead = Date.parse(revokesAt) > now.getTime()
  return (
    <Notice
      tone="info"
      title={`The service revokes it after ${quietDays} ${quietDays === 1 ? 'day' : 'days'} without use`}
      actions={actions}
      live
    >
      {ahead
        ? say`On ${<Moment at={revokesAt} format={weekdayTime} />}, unless it is used before then.`
        : postponed === null && 'Within a few minutes.'}{' '}
      {postponed && POSTPONED[postponed]}
    </Notice>
  )
}

/** The service keeps refusals for a day, and so many of a client. */
const REFUSALS_KEPT_MS = 86_400_000
const REFUSALS_KEPT = 200

function Refused({ old, rotation }: RevokeOldProps) {
  const now = useNow()
  if (old.revokedAt === null) return null
  const isRecent = now.getTime() - Date.parse(old.revokedAt) < REFUSALS_KEPT_MS
  return (
    <>
      <p>
        {say`Revoked on ${<Time at={old.revokedAt} format={weekdayTime} inSentence />} by ${old.revokedBy?.name}.`}
      </p>
      <p>
        {isRecent ? 'Refused since: ' : 'Refused in the last 24 hours: '}
        {rotation ? <Refusals {...rotation.refusedSinceRevoke} /> : '–'}
      </p>
    </>
  )
}

function Refusals({ count, lastAt, addresses }: ClientRotation['refusedSinceRevoke']) {
  if (lastAt === null) return 'no request'
  return (
    <>
      {count >= REFUSALS_KEPT && 'at least '}
      {count} {count === 1 ? 'request' : 'requests'}, the last on <Moment at={lastAt} format={weekdayTime} />,
      from{' '}
      {addresses.map((address) => (
        <code key={address} className="not-first-of-type:before:content-[',_']">
          {address}
        </code>
      ))}
    </>
  )
}
