import { useState } from 'react'
import { useCompany } from '../api/company.ts'
import type { ClientRotation, OAuthClient } from '../api/contract.ts'
import { Moment, Time, useNow } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { Section } from '../ui/Section.tsx'
import { listed, say } from '../ui/say.ts'
import { RevokeClient } from './RevokeClient.tsx'

export interface RevokeOldProps {
  old: OAuthClient
  isReplaced: boolean
  /** undefined: not known right now. */
  rotation: ClientRotation | undefined
}

/** Offers to revoke the old client, and shows what was refused since it was revoked. */
export function RevokeOld({ old, isReplaced, rotation }: RevokeOldProps) {
  const { mayManage } = useCompany()
  const [revoking, setRevoking] = useState(false)
  if (old.status === 'Active' && !mayManage) return null
  return (
    <Section
      id="revoke-title"
      title={
        old.status === 'Active' ? 'Revoke the old client' : `The ${isReplaced ? 'old ' : ''}client is revoked`
      }
    >
      {old.status === 'Active' ? (
        <p>
          <Button variant="danger" className="wrap-anywhere" onClick={() => setRevoking(true)}>
            Revoke <bdi>{old.name}</bdi>
          </Button>
        </p>
      ) : (
        <Refused old={old} rotation={rotation} />
      )}
      {revoking && <RevokeClient client={old} onClose={() => setRevoking(false)} />}
    </Section>
  )
}

/** The service keeps refusals for a day, and so many of a client. */
const REFUSALS_KEPT_MS = 86_400_000
const REFUSALS_KEPT = 200

function Refused({ old, rotation }: Omit<RevokeOldProps, 'isReplaced'>) {
  const now = useNow()
  if (old.revokedAt === null) return null
  const isRecent = now.getTime() - Date.parse(old.revokedAt) < REFUSALS_KEPT_MS
  return (
    <>
      <p>{say`Revoked on ${<Time at={old.revokedAt} format="weekdayTime" />} by ${old.revokedBy?.name}.`}</p>
      <p>
        {isRecent ? 'Refused since: ' : 'Refused in the last 24 hours: '}
        {rotation ? <Refusals {...rotation.refusedSinceRevoke} /> : '–'}
      </p>
    </>
  )
}

function Refusals({ count, lastAt, addresses }: ClientRotation['refusedSinceRevoke']) {
  if (lastAt === null) return 'no request on record'
  return (
    <>
      {count >= REFUSALS_KEPT && 'at least '}
      {count} {count === 1 ? 'request' : 'requests'}, the last on <Moment at={lastAt} format="weekdayTime" />,
      from {listed(addresses.map((address) => <code key={address}>{address}</code>))}
    </>
  )
}
