import { type ReactNode, useEffect, useMemo } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { useSignedIn } from './api/session.ts'
import { setZone } from './api/time.ts'
import { ClientScreen } from './clients/ClientScreen.tsx'
import { ClientsScreen } from './clients/ClientsScreen.tsx'
import { FirstEvent } from './clients/FirstEvent.tsx'
import { FoundSecrets } from './clients/FoundSecrets.tsx'
import { Palette, PaletteButton } from './palette/PaletteButton.tsx'
import { AccountMenu } from './shell/AccountMenu.tsx'
import { CompanyMenu } from './shell/CompanyMenu.tsx'
import { Connection } from './shell/Connection.tsx'
import { CrashBoundary } from './shell/CrashBoundary.tsx'
import { CompanyContext, currentCompany, SCREENS, useCompany } from './shell/company.ts'
import { deferred } from './shell/deferred.tsx'
import { NoAccess } from './shell/NoAccess.tsx'
import { NotFound, UnknownCompany } from './shell/NotFound.tsx'
import { Brand } from './ui/Brand.tsx'
import { ActivityIcon, ChartIcon, KeyIcon, PeopleIcon, WebhookIcon } from './ui/icons.tsx'
import { Skeleton } from './ui/Loaded.tsx'
import './shell/shell.css'

const OUTLINE = (
  <div className="page">
    <Skeleton lines={8} />
  </div>
)
const RotateScreen = deferred(() => import('./clients/RotateScreen.tsx'), OUTLINE)
const WebhooksScreen = deferred(() => import('./webhooks/WebhooksScreen.tsx'), OUTLINE)
const AnalyticsScreen = deferred(() => import('./analytics/AnalyticsScreen.tsx'), OUTLINE)
const ActivityScreen = deferred(() => import('./activity/ActivityScreen.tsx'), OUTLINE)
const PeopleScreen = deferred(() => import('./people/PeopleScreen.tsx'), OUTLINE)
const ExplainScreen = deferred(() => import('./clients/ExplainScreen.tsx'), OUTLINE)

const REST = [
  WebhooksScreen,
  AnalyticsScreen,
  ActivityScreen,
  PeopleScreen,
  ExplainScreen,
  RotateScreen,
  Palette,
]
const IDLE_MS = 300

/** The other screens follow the first one, so that going to one does not wait, nor fail once offline. */
function useRestLoaded(): void {
  useEffect(() => {
    const timer = setTimeout(() => {
      for (const screen of REST) screen.load().catch(() => {})
    }, IDLE_MS)
    return () => clearTimeout(timer)
  }, [])
}

/** Everything of one company: the way around, and the screen that the address names. */
export function Shell({ vendorId }: { vendorId: string }) {
  const { companies } = useSignedIn()
  const [location] = useLocation()
  useRestLoaded()
  const company = companies.find((each) => each.vendorId === vendorId)
  const current = useMemo(() => {
    // Before anything of the company is drawn.
    setZone(company?.timezone)
    return company && currentCompany(company)
  }, [company])
  if (!current) return <UnknownCompany />
  return (
    <CompanyContext value={current}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <div className="shell">
        <header className="rail">
          <Link
            className="rail-brand"
            href={current.to(SCREENS.clients)}
            aria-label="Integration Access, home"
          >
            <Brand />
          </Link>
          <CompanyMenu />
          <PaletteButton />
          {current.mayManage && <Navigation />}
          <AccountMenu />
        </header>
        <main id="main" className="main" tabIndex={-1}>
          <FoundSecrets />
          <CrashBoundary key={location}>{current.mayManage ? <Screens /> : <NoAccess />}</CrashBoundary>
        </main>
      </div>
      <Connection />
    </CompanyContext>
  )
}

function Screens() {
  const { to } = useCompany()
  const clients = `/:vendorId/${SCREENS.clients}`
  return (
    <Switch>
      <Route path="/:vendorId">
        <Redirect to={to(SCREENS.clients)} replace />
      </Route>
      <Route path={clients}>
        <ClientsScreen />
      </Route>
      <Route path={`${clients}/:clientId`}>
        {({ clientId }) => <ClientScreen key={clientId} clientId={clientId} />}
      </Route>
      <Route path={`${clients}/:clientId/rotate`}>
        {({ clientId }) => <RotateScreen key={clientId} clientId={clientId} />}
      </Route>
      <Route path={`/:vendorId/${SCREENS.webhooks}`}>
        <WebhooksScreen />
      </Route>
      <Route path={`/:vendorId/${SCREENS.analytics}`}>
        <AnalyticsScreen FirstEvent={FirstEvent} />
      </Route>
      <Route path={`/:vendorId/${SCREENS.activity}`}>
        <ActivityScreen />
      </Route>
      <Route path={`/:vendorId/${SCREENS.people}`}>
        <PeopleScreen />
      </Route>
      <Route path={`/:vendorId/${SCREENS.explain}/:requestId?`}>
        {({ requestId }) => <ExplainScreen key={requestId} requestId={requestId} />}
      </Route>
      <Route>
        <NotFound />
      </Route>
    </Switch>
  )
}

function Navigation() {
  return (
    <nav className="nav" aria-label="Workspace">
      <h2 id="nav-integrations" className="nav-group">
        Integrations
      </h2>
      <ul aria-labelledby="nav-integrations">
        <NavItem screen="clients" icon={<KeyIcon />} label="OAuth2 Clients" short="Clients" />
        <NavItem screen="webhooks" icon={<WebhookIcon />} label="Callback URL" short="Callback" />
      </ul>
      <h2 id="nav-company" className="nav-group">
        Company
      </h2>
      <ul aria-labelledby="nav-company">
        <NavItem screen="analytics" icon={<ChartIcon />} label="Analytics" />
        <NavItem screen="activity" icon={<ActivityIcon />} label="Activity" />
        <NavItem screen="people" icon={<PeopleIcon />} label="People" />
      </ul>
    </nav>
  )
}

interface NavItemProps {
  screen: keyof typeof SCREENS
  icon: ReactNode
  label: string
  short?: string
}

function NavItem({ screen, icon, label, short = label }: NavItemProps) {
  const { to } = useCompany()
  const [location] = useLocation()
  const href = to(SCREENS[screen])
  const within = (each: keyof typeof SCREENS) => `${location}/`.startsWith(`${to(SCREENS[each])}/`)
  // Explaining a refusal is a part of the clients.
  const here = within(screen) || (screen === 'clients' && within('explain'))
  return (
    <li>
      <Link className="nav-item" href={href} aria-current={here ? 'page' : undefined} aria-label={label}>
        {icon}
        <span className="nav-label" data-short={short}>
          {label}
        </span>
      </Link>
    </li>
  )
}
