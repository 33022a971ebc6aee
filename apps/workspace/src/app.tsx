import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Route, Switch } from 'wouter'
import { ApiProblem } from './api/request.ts'
import { SecretReveal } from './clients/SecretReveal.tsx'
import { forgetDrafts } from './session/drafts.ts'
import { SignIn } from './session/SignIn.tsx'
import { subscribe, useSession } from './session/session.ts'
import { ChooseCompany } from './shell/ChooseCompany.tsx'
import { CrashBoundary } from './shell/CrashBoundary.tsx'
import { Opening } from './shell/Opening.tsx'
import { Shell } from './shell/Shell.tsx'
import { Toaster } from './ui/Toaster.tsx'

const RETRIES = 2

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < RETRIES && !(error instanceof ApiProblem && error.status < 500),
    },
  },
})

/** The screen of whoever is there. Signing in happens in place, so that it leads back to the same address. */
export function App() {
  return (
    <CrashBoundary>
      <QueryClientProvider client={queryClient}>
        <Toaster>
          <Screen />
          {/* Outlives the session's end: the secret that it shows could not be had again. */}
          <SecretReveal />
        </Toaster>
      </QueryClientProvider>
    </CrashBoundary>
  )
}

function Screen() {
  const session = useSession()
  useForgetting()
  if (session.state === 'checking') return <Opening />
  if (session.state === 'unreachable') return <Opening error={session.error} />
  if (session.state === 'signed-out') return <SignIn reason={session.reason} />
  return (
    <Switch>
      <Route path="/" component={ChooseCompany} />
      <Route path="/:vendorId/*?">{({ vendorId }) => <Shell key={vendorId} vendorId={vendorId} />}</Route>
    </Switch>
  )
}

/** What was read under one session is not there for the next. */
function useForgetting(): void {
  useEffect(() => {
    let user: string | undefined
    return subscribe((session) => {
      if (session.state === 'signed-out') queryClient.clear()
      const changed = session.state === 'signed-in' && user !== undefined && user !== session.user.userId
      if (session.state === 'signed-in') user = session.user.userId
      if (changed || (session.state === 'signed-out' && session.reason === 'left')) forgetDrafts()
    })
  }, [])
}
