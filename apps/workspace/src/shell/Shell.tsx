import { lazy, type ReactNode, Suspense, useEffect, useMemo } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { ClientScreen } from '../clients/ClientScreen.tsx'
import { ClientsScreen } from '../clients/ClientsScreen.tsx'
import { useSignedIn } from '../session/session.ts'
import { ActivityIcon, ChartIcon, KeyIcon, PeopleIcon, WebhookIcon } from '../ui/icons.tsx'
import { Skeleton } from '../ui/Loaded.tsx'
import { AccountMenu } from './AccountMenu.tsx'
import { Brand } from './Brand.tsx'
import { CompanyMenu } from './CompanyMenu.tsx'
import { Connection } from './Connection.tsx'
import { CrashBoundary } from './CrashBoundary.tsx'
import { CompanyContext, currentCompany, SCREENS, useCompany } from './company.ts'
import { NoAccess } from './NoAccess.tsx'
import { NotFound, UnknownCompany } from './NotFound.tsx'
import { PaletteButton } from './PaletteButton.tsx'
import './shell.css'

const loadRotate = () => import('../clients/RotateScreen.tsx')
const loadWebhooks = () => import('../webhooks/WebhooksScreen.tsx')
const loadAnalytics = () => import('../analytics/AnalyticsScreen.tsx')
const loadActivity = () => import('../activity/ActivityScreen.tsx')
const loadPeople = () => import('../people/PeopleScreen.tsx')
const loadExplain = () => import('../clients/ExplainScreen.tsx')
const loadPalette = () => import('./Palette.tsx')
const RotateScreen = lazy(loadRotate)
const WebhooksScreen = lazy(loadWebhooks)
const AnalyticsScreen = lazy(loadAnalytics)
const ActivityScreen = lazy(loadActivity)
const PeopleScreen = lazy(loadPeople)
const ExplainScreen = lazy(loadExplain)

const REST = [loadWebhooks, loadAnalytics, loadActivity, loadPeople, loadExplain, loadRotate, loadPalette]
const IDLE_MS = 300

/** The other screens follow the first one, so that going to one does not wait, nor fail once offline. */
function useRestLoaded(): void {
  useEffect(() => {
    const timer = setTimeout(() => {
      for (const load of REST) load().catch(() => {})
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
  const current = useMemo(() => company && currentCompany(company), [company])
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
    <Suspense
      fallback={
        <div className="page">
          <Skeleton lines={8} />
        </div>
      }
    >
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
          <AnalyticsScreen />
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
    </Suspense>
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
        <NavItem screen="webhooks" icon={<WebhookIcon />} label="Webhooks" />
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
