import { changeRotation } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { ClientRotation, OAuthClient } from '../api/contract.ts'
import { reread } from '../api/query.ts'
import { useSignedIn } from '../api/session.ts'
import { useNow } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { FailureNotice } from '../ui/FailureNotice.tsx'
import { Notice } from '../ui/Notice.tsx'
import { useSubmission } from '../ui/submit.ts'
import { credentialName } from './credential.tsx'
import { armedBy, armedWords, armingWords, STATE_WORDS } from './rotation-words.ts'

/** Has the service revoke the old client once that is safe; shows who asked for it, and takes it back. */
export function ArmRevocation({ old, rotation }: { old: OAuthClient; rotation: ClientRotation }) {
  const { vendorId } = useCompany()
  const { user } = useSignedIn()
  const now = useNow()
  const submission = useSubmission((error) => ({
    title: 'It is not known whether that changed anything',
    text: (error as Error).message,
  }))
  const { armed, safeFrom } = rotation
  if (!armed && !(STATE_WORDS[rotation.state].arms && safeFrom !== null)) return null
  const { clientId } = old
  const toggle = () =>
    submission.run(async () => {
      try {
        await changeRotation(vendorId, clientId, { armed: !armed })
      } catch (error) {
        void reread(vendorId, 'oauth-clients', clientId, 'rotation')
        throw error
      }
    })
  return (
    <>
      {armed && (
        <Notice tone="info" title={<>Armed by {<bdi>{armedBy(armed, user.userId)}</bdi>}</>} live>
          {armedWords(rotation, now)}
        </Notice>
      )}
      <FailureNotice failure={submission.failure} />
      <Button busy={submission.busy} onClick={toggle}>
        {armed ? 'Disarm' : armingWords(rotation, credentialName(old), now)}
      </Button>
    </>
  )
}
