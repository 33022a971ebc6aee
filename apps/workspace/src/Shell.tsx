import { onlineManager } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { CompanyContext, currentCompany, useCompany } from './api/company.ts'
import { useReadingStopped } from './api/query.ts'
import { SCREENS, type Screen, screenAt } from './api/screens.ts'
import { useSignedIn } from './api/session.ts'
import { ClientScreen } from './clients/ClientScreen.tsx'
import { ClientsScreen } from './clients/ClientsScreen.tsx'
import { FirstEvent } from './clients/FirstEvent.tsx'
import { FoundSecrets } from './clients/FoundSecrets.tsx'
import { Palette } from './palette/Palette.tsx'
import { AccountMenu } from './shell/AccountMenu.tsx'
import { UnknownCompany } from './shell/ChooseCompany.tsx'
import { CompanyMenu } from './shell/CompanyMenu.tsx'
import { CrashBoundary } from './shell/CrashBoundary.tsx'
import { deferred } from './shell/deferred.tsx'
import { NoAccess } from './shell/NoAccess.tsx'
import { Page } from './shell/Page.tsx'
import { Brand } from './ui/Brand.tsx'
import { DocsHome } from './ui/DocsLink.tsx'
import {
  ActivityIcon,
  BookIcon,
  ChartIcon,
  InfoIcon,
  KeyIcon,
  OfflineIcon,
  PeopleIcon,
  SearchIcon,
  WebhookIcon,
} from './ui/icons.tsx'
import { Skeleton } from './ui/Skeleton.tsx'

const OUTLINE = (
  <div className="mx-auto max-w-270">
    <Skeleton lines={8} />
  </div>
)
const RotateScreen = deferred(() => import('./clients/RotateScreen.tsx'), OUTLINE)
const WebhooksScreen = deferred(() => import('./webhooks/WebhooksScreen.tsx'), OUTLINE)
const AnalyticsScreen = deferred(() => import('./analytics/AnalyticsScreen.tsx'), OUTLINE)
const ActivityScreen = deferred(() => import('./activity/ActivityScreen.tsx'), OUTLINE)
const PeopleScreen = deferred(() => import('./people/PeopleScreen.tsx'), OUTLINE)
const ExplainScreen = deferred(() => import('./clients/ExplainScreen.tsx'), OUTLINE)

const REST = [WebhooksScreen, AnalyticsScreen, ActivityScreen, PeopleScreen, ExplainScreen, RotateScreen]
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
  const company = companies.find((item) => item.vendorId === vendorId)
  const current = useMemo(() => company && currentCompany(company), [company])
  if (!current) return <UnknownCompany vendorId={vendorId} />
  return (
    <CompanyContext value={current}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <div className="shell">
        <header className="rail max-desk:flex-row max-desk:items-center max-desk:bg-paper max-desk:px-4 max-desk:py-2 low:static low:flex-wrap">
          <Link
            className="self-center py-1.5 pe-3 text-inherit no-underline desk:mx-2 desk:self-start desk:p-0"
            href={current.to('clients')}
            aria-label="Integration Access, home"
          >
            <Brand nameClass="max-desk:hidden" />
          </Link>
          <CompanyMenu />
          <PaletteButton />
          {current.mayView && <Navigation />}
          <div className="contents desk:mt-auto desk:grid desk:gap-1">
            <DocsHome className={`${NAV_ITEM} min-h-11 rounded-md text-ink desk:min-h-10`}>
              <BookIcon />
              <span className="max-desk:sr-only">Documentation</span>
            </DocsHome>
            <AccountMenu />
          </div>
        </header>
        <main
          id="main"
          className="min-w-0 px-4 pt-6 pb-28 focus:shadow-none focus:outline-none desk:px-[clamp(24px,4vw,72px)] desk:pt-10 desk:pb-24 low:pb-8"
          tabIndex={-1}
        >
          <FoundSecrets />
          <CrashBoundary key={location}>{current.mayView ? <Screens /> : <NoAccess />}</CrashBoundary>
        </main>
      </div>
      <Connection />
    </CompanyContext>
  )
}

function Screens() {
  const { to, maySee } = useCompany()
  return (
    <Switch>
      <Route path="/:vendorId">
        <Redirect to={to('clients')} replace />
      </Route>
      <Route path={`/:vendorId/${SCREENS.clients}`} component={ClientsScreen} />
      <Route path={`/:vendorId/${SCREENS.client}`}>
        {({ id }) => <ClientScreen key={id} clientId={id} />}
      </Route>
      <Route path={`/:vendorId/${SCREENS.rotation}`}>
        {({ id }) => <RotateScreen key={id} clientId={id} />}
      </Route>
      <Route path={`/:vendorId/${SCREENS.webhooks}`} component={WebhooksScreen} />
      <Route path={`/:vendorId/${SCREENS.analytics}`}>
        <AnalyticsScreen FirstEvent={FirstEvent} />
      </Route>
      <Route
        path={`/:vendorId/${SCREENS.activity}`}
        component={maySee('activity') ? ActivityScreen : NoAccess}
      />
      <Route path={`/:vendorId/${SCREENS.people}`} component={maySee('people') ? PeopleScreen : NoAccess} />
      <Route path={`/:vendorId/${SCREENS.explain}`}>
        {({ id }) => <ExplainScreen key={id} requestId={id} />}
      </Route>
      <Route component={NotFound} />
    </Switch>
  )
}

function NotFound() {
  const { to } = useCompany()
  return (
    <Page title="Page not found" lede="The address may be mistyped, or the page no longer exists." bare>
      <p>
        <Link className="touch" href={to('clients')}>
          Go to OAuth2 Clients
        </Link>
      </p>
    </Page>
  )
}

/**
 * Says when nothing is read: without a connection, or because no one uses the page. It lies over the page and
 * an open dialog, so that nothing jumps, and what is below it can be pressed. Announcer says why aria-live.
 */
function Connection() {
  const online = useSyncExternalStore(onlineManager.subscribe, () => onlineManager.isOnline())
  const stopped = useReadingStopped()
  return (
    <div role="status" aria-live="polite">
      {(!online || stopped) && (
        <p className="pointer-events-none fixed inset-x-0 bottom-(--bar) print:hidden z-35 flex items-center justify-center gap-2.5 bg-ink px-4 py-2 text-md text-paper">
          {online ? <InfoIcon /> : <OfflineIcon />}
          {online
            ? 'Updates are paused because no one is using this page. Move the pointer, tap, or press a key to resume.'
            : 'You are offline. What you see may be out of date, and changes are not sent.'}
        </p>
      )}
    </div>
  )
}

const ON_MAC = /Mac|iP(?:ad|hone)/.test(navigator.platform)
/** Opens the palette, as does Ctrl or Cmd and K outside a dialog. */
function PaletteButton() {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      // Chrome's autofill sends one without a key.
      if (event.key?.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return
      event.preventDefault()
      if (!document.querySelector('[role="dialog"]')) setOpen(true)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <button
        type="button"
        className="flex min-h-9.5 cursor-pointer items-center gap-2.5 rounded-md border border-transparent bg-transparent p-3 text-start text-md hover:border-control hover:text-ink desk:-mt-2.5 desk:border-line desk:py-1.5 desk:pe-2.5 desk:text-muted"
        aria-keyshortcuts={ON_MAC ? 'Meta+K' : 'Control+K'}
        onClick={() => setOpen(true)}
      >
        <SearchIcon />
        <span className="flex-1 max-desk:sr-only">Search</span>
        <kbd className="rounded-sm border border-line-strong px-1.5 py-px font-mono text-xs max-desk:hidden">
          {ON_MAC ? '⌘K' : 'Ctrl K'}
        </kbd>
      </button>
      {open && <Palette onClose={() => setOpen(false)} />}
    </>
  )
}

const NAV_GROUP = 'px-3 pt-2.5 pb-1 text-sm font-normal tracking-normal text-muted max-desk:sr-only'
const NAV_LIST = 'grid auto-cols-fr grid-flow-col desk:block'

/** A bar at the foot of a narrow window, and no bar where that would leave no room. */
function Navigation() {
  const columns = useCompany().mayManage ? 'grid-cols-[2fr_3fr]' : 'grid-cols-[2fr_1fr]'
  return (
    <nav
      className={`fixed inset-x-0 bottom-0 z-10 grid print:hidden border-t border-line-strong bg-paper pb-[env(safe-area-inset-bottom)] desk:static desk:mb-auto desk:grid-cols-1 desk:gap-0.5 desk:border-0 low:static low:order-1 low:-mx-4 low:-mb-2 low:basis-[calc(100%+32px)] low:border-line low:p-0 ${columns}`}
      aria-label="Workspace"
    >
      <h2 id="nav-integrations" className={NAV_GROUP}>
        Integrations
      </h2>
      <ul className={NAV_LIST} aria-labelledby="nav-integrations">
        <NavItem screen="clients" icon={<KeyIcon />} label="OAuth2 Clients" short="Clients" />
        <NavItem screen="webhooks" icon={<WebhookIcon />} label="Callback URL" short="Callback" />
      </ul>
      <h2 id="nav-company" className={NAV_GROUP}>
        Company
      </h2>
      <ul className={NAV_LIST} aria-labelledby="nav-company">
        <NavItem screen="analytics" icon={<ChartIcon />} label="Analytics" />
        <NavItem screen="activity" icon={<ActivityIcon />} label="Activity" />
        <NavItem screen="people" icon={<PeopleIcon />} label="People" />
      </ul>
    </nav>
  )
}

interface NavItemProps {
  screen: Screen
  icon: ReactNode
  label: string
  short?: string
}

const NAV_ITEM =
  'flex items-center px-3 py-1.5 no-underline hover:bg-sunk hover:text-ink desk:gap-2.75 desk:rounded-md desk:text-ink-2'

function NavItem({ screen, icon, label, short = label }: NavItemProps) {
  const { to, maySee } = useCompany()
  const [location] = useLocation()
  if (!maySee(screen)) return null
  const current = screenAt(location)
  // Explaining a refusal is a part of the clients.
  const isCurrent = current === screen || (screen === 'clients' && current === 'explain')
  return (
    <li>
      <Link
        className={`${NAV_ITEM} min-h-14.5 flex-col justify-center gap-0.5 px-0.5 text-sm text-ink-2 aria-[current]:bg-mark aria-[current]:font-strong aria-[current]:text-mark-ink aria-[current]:outlined desk:min-h-10 desk:flex-row desk:justify-start desk:px-3 desk:text-base low:min-h-12`}
        href={to(screen)}
        aria-current={isCurrent ? 'page' : undefined}
        aria-label={label}
      >
        {icon}
        <span className="max-desk:hidden">{label}</span>
        <span className="desk:hidden">{short}</span>
      </Link>
    </li>
  )
}
