import { useLocation } from 'wouter'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Button } from '../ui/Button.tsx'
import { StatusText } from '../ui/StatusText.tsx'
import { refusalsKnown, TROUBLES, type View } from './find-clients.ts'

export interface AttentionProps {
  clients: readonly OAuthClient[]
  onShow: (view: View) => void
}

/** What needs a person, but for found secrets, of which every screen warns. Leads to one client or a list. */
export function Attention({ clients, onShow }: AttentionProps) {
  const { to } = useCompany()
  const [, navigate] = useLocation()
  const now = new Date()
  const troubles = TROUBLES.map(({ has, ...trouble }) => {
    return { ...trouble, found: clients.filter((client) => has(client, now)) }
  }).filter(({ found }) => found.length > 0)
  const isKnown = refusalsKnown(clients)
  return (
    <section className="mb-5" aria-label="Needs attention">
      {troubles.length === 0 && isKnown && <p className="text-ink-2">No client needs attention.</p>}
      {!isKnown && <p className="text-warn">Failing: –. Refused requests cannot be read right now.</p>}
      <ul className="flex flex-wrap gap-2 empty:hidden">
        {troubles
          .filter(({ view }) => view !== 'found')
          .map(({ view, about: [one, several], found }) => {
            const [only] = found.length === 1 ? found : []
            return (
              <li key={view}>
                <Button
                  className="border-line bg-transparent text-start"
                  onClick={() => (only ? navigate(to('client', only.clientId)) : onShow(view))}
                >
                  <StatusText tone={view === 'unused' ? 'idle' : 'bad'}>
                    {found.length} {only ? one : several}
                  </StatusText>
                  {only && (
                    <span className="sr-only font-normal text-ink-2 sm:not-sr-only">
                      : <bdi>{only.name}</bdi>
                    </span>
                  )}
                </Button>
              </li>
            )
          })}
      </ul>
    </section>
  )
}
