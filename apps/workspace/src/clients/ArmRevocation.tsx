import { useQueryClient } from '@tanstack/react-query'
import type { ClientRotation, OAuthClient } from '../api/contract.ts'
import { changeRotation, rotationKey } from '../api/rotation.ts'
import { useSignedIn } from '../api/session.ts'
import { useCompany } from '../shell/company.ts'
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
  const queryClient = useQueryClient()
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
        await changeRotation(queryClient, vendorId, { clientId, change: { armed: !armed } })
      } catch (error) {
        void queryClient.invalidateQueries({ queryKey: rotationKey(vendorId, clientId) })
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
