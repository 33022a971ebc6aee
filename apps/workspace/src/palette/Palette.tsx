import { Dialog as Primitive } from 'radix-ui'
import { type KeyboardEvent, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { useAllClients } from '../api/clients.ts'
import { type CurrentCompany, SCREENS, useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { requestIdIn } from '../api/request-id.ts'
import { signOut, useSignedIn } from '../api/session.ts'
import { DOCS } from '../ui/docs.ts'
import { finds } from '../ui/find.ts'
import { CloseIcon } from '../ui/icons.tsx'
import { focusAgain, openerOf } from '../ui/opener.ts'
import { setTheme, THEMES } from '../ui/theme.ts'

/** At most, of one group. */
const SHOWN = 8

interface Command {
  key: string
  title: string
  /** Beside the title, and found as well. */
  note?: string
  /** Found, but not shown. */
  words?: string
  run: () => void
}

interface Group {
  title: string
  commands: Command[]
  /** How many were found, if more than are listed. */
  count?: number
  /** Not listed until something is typed. */
  onlyFound?: boolean
}

/** Finds clients, screens and actions by name. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const [opener] = useState(openerOf)
  const [left, setLeft] = useState(false)
  return (
    <Primitive.Root open onOpenChange={(open) => !open && onClose()}>
      <Primitive.Portal>
        <div className="dialog-place items-start">
          <Primitive.Content
            className="dialog mt-[min(12vh,120px)] max-w-[620px] gap-0 self-start overflow-hidden p-0 max-desk:mt-0 max-desk:min-h-0"
            aria-describedby={undefined}
            onCloseAutoFocus={(event) => {
              event.preventDefault()
              if (!left) focusAgain(opener)
            }}
          >
            <Primitive.Title className="off-screen">Search or jump to</Primitive.Title>
            <Commands
              onRun={(command) => {
                setLeft(true)
                onClose()
                command.run()
              }}
            />
          </Primitive.Content>
        </div>
      </Primitive.Portal>
    </Primitive.Root>
  )
}

function Commands({ onRun }: { onRun: (command: Command) => void }) {
  const id = useId()
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const groups = found(useCommands(typed), typed)
  const flat = groups.flatMap(({ commands }) => commands)
  const count = groups.reduce((sum, group) => sum + (group.count ?? 0), 0)
  const here = flat[Math.min(at, flat.length - 1)]

  function move(event: KeyboardEvent): void {
    const last = flat.length - 1
    const next = { ArrowDown: at < last ? at + 1 : 0, ArrowUp: at > 0 ? at - 1 : last }[event.key]
    if (next !== undefined) {
      event.preventDefault()
      setAt(next)
      const command = flat[next]
      if (command) document.getElementById(id + command.key)?.scrollIntoView({ block: 'nearest' })
    }
    if (event.key === 'Enter' && here) {
      event.preventDefault()
      onRun(here)
    }
  }

  return (
    <>
      <div className="flex items-center border-b border-line-strong pe-2 focus-within:shadow-[inset_0_-3px_0_var(--mark)]">
        <input
          className="min-w-0 flex-1 border-0 bg-transparent px-5 py-4 text-[17px] placeholder:text-ink-3 focus-visible:shadow-none focus-visible:outline-none"
          role="combobox"
          aria-label="Search or jump to"
          aria-expanded="true"
          aria-controls={`${id}list`}
          aria-activedescendant={here && id + here.key}
          placeholder="Search clients, screens and actions"
          autoComplete="off"
          spellCheck={false}
          dir="auto"
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value)
            setAt(0)
          }}
          onKeyDown={move}
        />
        <Primitive.Close className="icon-button" aria-label="Close">
          <CloseIcon />
        </Primitive.Close>
      </div>
      <div
        className="max-h-[min(52vh,480px)] overflow-auto p-1.5"
        role="listbox"
        id={`${id}list`}
        aria-label="Results"
      >
        {groups.map(({ title, commands }) => (
          // biome-ignore lint/a11y/useSemanticElements: a listbox has no other groups.
          <div key={title} role="group" aria-label={title}>
            <p className="menu-label" aria-hidden="true">
              {title}
            </p>
            {commands.map((command) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: the input has the keys and the focus.
              <div
                key={command.key}
                id={id + command.key}
                role="option"
                className="palette-item flex min-h-[38px] cursor-pointer items-baseline justify-between gap-x-4 gap-y-1.5 rounded-md px-2.5 py-2 [&>bdi]:min-w-0"
                aria-selected={command === here}
                // A browser also says so when the list moves under a pointer that rests.
                onMouseMove={({ movementX, movementY }) => {
                  if (movementX !== 0 || movementY !== 0) setAt(flat.indexOf(command))
                }}
                onClick={() => onRun(command)}
              >
                <bdi>{command.title}</bdi>
                {command.note && (
                  <code className="flex-none text-[13px] text-ink-3 max-desk:hidden">{command.note}</code>
                )}
              </div>
            ))}
          </div>
        ))}
      </div>
      <p className={flat.length === 0 ? 'px-5 py-[18px] text-ink-2' : 'off-screen'} role="status">
        {flat.length === 0 ? 'Nothing found.' : typed && foundText(count, flat.length)}
      </p>
    </>
  )
}

const foundText = (count: number, shown: number): string =>
  count === shown ? `${count} found` : `${count} found, ${shown} listed`

function found(groups: Group[], typed: string): Group[] {
  return groups
    .filter(({ onlyFound }) => typed.trim() !== '' || !onlyFound)
    .map((group) => {
      const all = group.commands.filter(({ title, note, words }) =>
        finds(typed, `${title} ${words ?? ''}`, note),
      )
      return { ...group, commands: all.slice(0, SHOWN), count: all.length }
    })
    .filter(({ commands }) => commands.length > 0)
}

function useCommands(typed: string): Group[] {
  const company = useCompany()
  const { companies } = useSignedIn()
  const [, navigate] = useLocation()
  const screens: Command[] = [
    ...(company.mayManage ? [...explanation(typed, company, navigate), ...screensOf(company, navigate)] : []),
    { key: 'docs', title: 'API documentation', words: 'docs help', run: () => location.assign(DOCS.start) },
    { key: 'openapi', title: 'OpenAPI document', run: () => location.assign('/openapi.json') },
  ]
  const others = companies.filter(({ vendorId }) => vendorId !== company.vendorId)
  return [
    ...useClientCommands(company, navigate),
    { title: 'Go to', commands: screens },
    {
      title: 'Do',
      commands: [
        ...(company.mayManage
          ? [
              {
                key: 'create',
                title: 'Create a client',
                words: 'new add',
                run: () => navigate(`${company.to(SCREENS.clients)}?new`),
              },
            ]
          : []),
        ...THEMES.map(({ value, label }) => ({
          key: `theme-${value}`,
          title: `${label} theme`,
          words: 'colours colors appearance mode',
          run: () => setTheme(value),
        })),
        { key: 'sign-out', title: 'Sign out', words: 'log out leave', run: () => void signOut() },
      ],
    },
    {
      title: 'Switch company',
      commands: others.map(({ vendorId, name }) => ({
        key: `company-${vendorId}`,
        title: name,
        note: vendorId,
        words: 'company switch',
        run: () => navigate(`/${encodeURIComponent(vendorId)}/${SCREENS.clients}`),
      })),
    },
  ]
}

/** Screens by their titles, with further words that find them. */
const FOUND_SCREENS: readonly [screen: keyof typeof SCREENS, title: string, words: string][] = [
  ['clients', 'OAuth2 Clients', ''],
  ['webhooks', 'Callback URL', 'webhooks receiver'],
  ['analytics', 'Analytics', ''],
  ['activity', 'Activity', 'audit log'],
  ['people', 'People', 'team users invite members roles'],
  ['explain', 'Explain a refusal', 'request id why refused error 401 403 429'],
]

/** Why the request was refused whose id was pasted. A UUID, because a shorter text may be anything. */
const REQUEST_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

function explanation(typed: string, { to }: CurrentCompany, navigate: (to: string) => void): Command[] {
  const requestId = requestIdIn(typed)
  if (requestId === undefined || !REQUEST_ID.test(requestId)) return []
  const run = () => navigate(`${to(SCREENS.explain)}/${requestId}`)
  return [{ key: 'explain-request', title: 'Explain this request', note: requestId, words: typed, run }]
}

const screensOf = ({ to }: CurrentCompany, navigate: (to: string) => void): Command[] =>
  FOUND_SCREENS.map(([key, title, words]) => ({ key, title, words, run: () => navigate(to(SCREENS[key])) }))

function useClientCommands(company: CurrentCompany, navigate: (to: string) => void): Group[] {
  const { data } = useAllClients()
  const clients = [...(data ?? [])].sort((a, b) => rank(a) - rank(b))
  const active = new Set(clients.filter(({ status }) => status === 'Active').map(({ clientId }) => clientId))
  // Its rotation is that of the client that it replaces.
  const takesOver = ({ replaces }: OAuthClient) => replaces !== null && active.has(replaces)
  const href = ({ clientId }: OAuthClient) => `${company.to(SCREENS.clients)}/${clientId}`
  return [
    {
      title: 'Clients',
      onlyFound: true,
      commands: clients.map((client) => ({
        key: client.clientId,
        title: client.name,
        note: client.status === 'Active' ? client.clientId : `${client.clientId} · Revoked`,
        run: () => navigate(href(client)),
      })),
    },
    {
      title: 'Rotate',
      onlyFound: true,
      commands: clients
        .filter((client) => client.status === 'Active' && !takesOver(client))
        .map((client) => ({
          key: `rotate-${client.clientId}`,
          title: `Rotate ${client.name}`,
          run: () => navigate(`${href(client)}/rotate`),
        })),
    },
    {
      title: 'Revoke',
      onlyFound: true,
      commands: clients
        .filter(({ status }) => status === 'Active')
        .map((client) => ({
          key: `revoke-${client.clientId}`,
          title: `Revoke ${client.name}`,
          run: () => navigate(`${href(client)}?revoke`),
        })),
    },
  ]
}

const rank = ({ status }: OAuthClient): number => (status === 'Active' ? 0 : 1)
