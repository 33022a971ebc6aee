import { QueryClientProvider } from '@tanstack/react-query'
import { Route, Switch } from 'wouter'
import { queryClient } from './api/query.ts'
import { useSession } from './api/session.ts'
import { SecretReveal } from './clients/SecretReveal.tsx'
import { Shell } from './Shell.tsx'
import { SignInScreen } from './session/SignInScreen.tsx'
import { ChooseCompany } from './shell/ChooseCompany.tsx'
import { FindRefusal } from './shell/FindRefusal.tsx'
import { Announcer } from './ui/Announcer.tsx'
import { Toaster } from './ui/Toaster.tsx'

/** Everything behind the sign-in, in its own file, so that signing in does not wait for it. */
export default function Workspace() {
  return (
    <QueryClientProvider client={queryClient}>
      <Toaster>
        <Screens />
        <SecretReveal />
        <Announcer />
      </Toaster>
    </QueryClientProvider>
  )
}

function Screens() {
  const session = useSession()
  if (session.state === 'signed-out') return <SignInScreen reason={session.reason} email={session.email} />
  return (
    <Switch key={session.state === 'signed-in' ? session.user.userId : undefined}>
      <Route path="/" component={ChooseCompany} />
      <Route path="/explain/:requestId?">{({ requestId }) => <FindRefusal requestId={requestId} />}</Route>
      <Route path="/:vendorId/*?">{({ vendorId }) => <Shell key={vendorId} vendorId={vendorId} />}</Route>
    </Switch>
  )
}
