import { Fragment } from 'react'
import { useLocation } from 'wouter'
import { SCREENS, useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Button } from '../ui/Button.tsx'
import { say } from '../ui/say.tsx'
import { refusalsKnown, TROUBLES, type View } from './find-clients.ts'

export interface AttentionProps {
  clients: readonly OAuthClient[]
  onShow: (view: View) => void
}

/** What needs a person, a line each. */
export function Attention({ clients, onShow }: AttentionProps) {
  const now = new Date()
  const lines = TROUBLES.map(({ has, ...trouble }) => {
    return { ...trouble, found: clients.filter((client) => has(client, now)) }
  }).filter(({ found }) => found.length > 0)
  const isKnown = refusalsKnown(clients)
  return (
    <section className="mb-6" aria-label="Needs attention">
      {lines.length === 0 && isKnown && <p className="text-ink-2">No client needs attention.</p>}
      {!isKnown && <p className="text-warn">Failing: –. Refused requests cannot be read right now.</p>}
      {lines.length > 0 && (
        <ul className="lined">
          {lines.map(({ view, about, found }) => (
            <Line
              key={view}
              view={view}
              about={about[found.length === 1 ? 0 : 1]}
              found={found}
              onShow={onShow}
            />
          ))}
        </ul>
      )}
    </section>
  )
}

const LINE = 'flex min-w-0 items-center gap-x-3 py-1 [&_.button]:min-h-9 max-phone:[&_.button]:min-h-11'

interface LineProps {
  view: View
  about: string
  found: OAuthClient[]
  onShow: (view: View) => void
}

function Line({ view, about, found, onShow }: LineProps) {
  const { to } = useCompany()
  const [, navigate] = useLocation()
  const [only] = found.length === 1 ? found : []
  return (
    <li className={LINE}>
      <span className={`phone:flex-none font-strong ${view === 'unused' ? '' : 'text-bad'}`}>
        {found.length} {about}
      </span>
      <span className="min-w-0 flex-1 truncate text-ink-2 max-phone:off-screen">
        {!only &&
          found.map(({ clientId, name }, index) => (
            <Fragment key={clientId}>
              {index > 0 && ', '}
              <bdi>{name}</bdi>
            </Fragment>
          ))}
      </span>
      <Button
        className="wrap ms-auto"
        onClick={() => (only ? navigate(`${to(SCREENS.clients)}/${only.clientId}`) : onShow(view))}
      >
        {only ? say`Open ${only.name}` : 'Show'}
        <span className="off-screen">
          : {found.length} {about}
        </span>
      </Button>
    </li>
  )
}
