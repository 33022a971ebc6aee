import { useState } from 'react'
import type { OAuthClient } from '../api/contract.ts'
import { Button } from '../ui/Button.tsx'
import { Section } from '../ui/Section.tsx'
import { RevokeClient } from './RevokeClient.tsx'

/** Ends a rotation. */
export function RevokeOld({ old }: { old: OAuthClient }) {
  const [revoking, setRevoking] = useState(false)
  return (
    <Section id="revoke-title" title="Revoke the old client">
      <p>
        <Button variant="danger" className="wrap-anywhere" onClick={() => setRevoking(true)}>
          Revoke <bdi>{old.name}</bdi>
        </Button>
      </p>
      {revoking && <RevokeClient client={old} onClose={() => setRevoking(false)} />}
    </Section>
  )
}
