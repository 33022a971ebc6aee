import { useEffect, useState } from 'react'
import type { InvitationPreview } from '../api/contract.ts'
import { ApiProblem, retryIn } from '../api/request.ts'
import { previewInvitation } from '../api/session.ts'
import { Button } from '../ui/Button.tsx'
import { Skeleton } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { PlainPage } from '../ui/PlainPage.tsx'
import { ThemeSelect } from '../ui/theme.tsx'
import { AcceptInvitation } from './AcceptInvitation.tsx'
import { useInvitationToken } from './link.ts'

/** Where an invitation link leads, signed in or not. */
export default function InvitationScreen() {
  const token = useInvitationToken()
  return token === undefined ? <NoToken /> : <Invitation key={token} token={token} />
}

function Invitation({ token }: { token: string }) {
  const { preview, error, tryAgain } = usePreview(token)
  if (preview) return <AcceptInvitation token={token} invitation={preview} />
  if (error instanceof ApiProblem && error.status === 404) {
    return (
      <PlainPage title="This invitation is no longer valid" action={<ThemeSelect />}>
        <p>{error.message} Ask whoever invited you for a new one.</p>
        <JoinedAlready />
      </PlainPage>
    )
  }
  return (
    <PlainPage title="Your invitation" action={<ThemeSelect />}>
      {error ? (
        <Notice
          tone="warn"
          title="The invitation could not be read"
          live
          actions={<Button onClick={tryAgain}>Try again</Button>}
        >
          {error instanceof ApiProblem && error.status === 429
            ? `There were too many attempts from your network. Try again ${retryIn(error)}.`
            : error.message}
        </Notice>
      ) : (
        <div role="status">
          <span className="off-screen">Loading</span>
          <Skeleton lines={5} />
        </div>
      )}
    </PlainPage>
  )
}

const NoToken = () => (
  <PlainPage title="Open your invitation again" action={<ThemeSelect />}>
    <p>
      The link’s secret is no longer in the address. It was removed when the page opened, so that no one can
      read it there. Open the link that you were given again.
    </p>
    <JoinedAlready />
  </PlainPage>
)

const JoinedAlready = () => (
  <p>
    Joined already? <a href="/">Sign in</a>
  </p>
)

function usePreview(token: string) {
  const [preview, setPreview] = useState<InvitationPreview>()
  const [error, setError] = useState<Error>()
  const [tries, setTries] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each try asks again.
  useEffect(() => {
    const leaving = new AbortController()
    setError(undefined)
    previewInvitation(token, leaving.signal).then(setPreview, (failed: Error) => {
      if (!leaving.signal.aborted) setError(failed)
    })
    return () => leaving.abort()
  }, [token, tries])
  return { preview, error, tryAgain: () => setTries(tries + 1) }
}
