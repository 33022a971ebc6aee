import { useEffect } from 'react'
import { subscribe, useSession } from './api/session.ts'
import { setReveal, useReveal } from './clients/reveal.ts'
import { INVITATION_PATH, PASSWORD_RESET_PATH } from './session/link.ts'
import { SignInScreen } from './session/SignInScreen.tsx'
import { CrashBoundary } from './shell/CrashBoundary.tsx'
import { deferred } from './shell/deferred.tsx'
import { Opening } from './ui/PlainPage.tsx'

const Workspace = deferred(() => import('./workspace.tsx'), <Opening />)
const InvitationScreen = deferred(() => import('./invitation/InvitationScreen.tsx'), <Opening />)
const PasswordResetScreen = deferred(() => import('./session/PasswordResetScreen.tsx'), <Opening />)

/** Signing in happens in place, so that it leads back to the same address. */
export function App() {
  return (
    <CrashBoundary>
      <Screen />
    </CrashBoundary>
  )
}

function Screen() {
  const session = useSession()
  const reveal = useReveal()
  useRevealOfOnePerson()
  // Left by loading another page.
  if (location.pathname === INVITATION_PATH) return <InvitationScreen />
  if (location.pathname === PASSWORD_RESET_PATH) return <PasswordResetScreen />
  if (session.state === 'checking') return <Opening />
  if (session.state === 'unreachable') return <Opening error={session.error} />
  // A new secret that is still shown outlives the session: it could not be had again.
  if (session.state === 'signed-out' && !reveal) {
    const fetchRest = () => void Workspace.load().catch(() => {})
    return <SignInScreen reason={session.reason} email={session.email} onInput={fetchRest} />
  }
  return <Workspace />
}

/** A person who is signed out sees their own new secret until they put it away. No one else does. */
function useRevealOfOnePerson(): void {
  useEffect(() => {
    let user: string | undefined
    return subscribe((session) => {
      if (session.state !== 'signed-in') return
      if (user !== undefined && user !== session.user.userId) setReveal(undefined)
      user = session.user.userId
    })
  }, [])
}
