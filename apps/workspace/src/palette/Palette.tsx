import { Dialog as Primitive } from 'radix-ui'
import { type KeyboardEvent, useId, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { useAllClients } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { requestIdIn } from '../api/request-id.ts'
import type { Screen } from '../api/screens.ts'
import { CloseButton, Modal } from '../ui/Dialog.tsx'
import { DOCS } from '../ui/docs.ts'
import { finds, foldCase } from '../ui/find.ts'

/** At most, of one group. */
const SHOWN = 8

interface Command {
  key: string
  title: string
  /** Beside the title, and found as well. */
  note?: string
  /** Beside the title, also in a narrow window, and found as well. */
  status?: 'Revoked' | undefined
  /** Found, but not shown. */
  words?: string
  run: () => void
}

interface Group {
  title: string
  commands: Command[]
  /** How many were found, if more than are listed. */
  count: number
}

/** Finds clients and screens by name. */
export function Palette({ onClose }: { onClose: () => void }) {
  const hasRun = useRef(false)
  return (
    <Modal
      onClose={onClose}
      restoresFocus={() => !hasRun.current}
      className="min-h-0! overflow-hidden sm:max-w-155 sm:self-start desk:mt-[min(12vh,120px)]"
    >
      <Primitive.Title className="sr-only">Search or jump to</Primitive.Title>
      <Commands
        onRun={(command) => {
          hasRun.current = true
          onClose()
          command.run()
        }}
      />
    </Modal>
  )
}

function Commands({ onRun }: { onRun: (command: Command) => void }) {
  const id = useId()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const { data: clients, error, fetchStatus } = useAllClients()
  const isUnread = text.trim() !== '' && !clients && (error !== null || fetchStatus !== 'idle')
  const groups = useGroups(text, clients ?? [])
  const commands = groups.flatMap((group) => group.commands)
  const count = groups.reduce((sum, group) => sum + group.count, 0)
  const current = commands[Math.min(at, commands.length - 1)]
  const isSilent = count > 0 && count === commands.length && !isUnread

  function onKeyDown(event: KeyboardEvent): void {
    // An input method takes these keys to choose characters.
    if (event.nativeEvent.isComposing) return
    const last = commands.length - 1
    const next = { ArrowDown: at < last ? at + 1 : 0, ArrowUp: at > 0 ? at - 1 : last }[event.key]
    if (next !== undefined) {
      event.preventDefault()
      setAt(next)
      const command = commands[next]
      if (command) document.getElementById(id + command.key)?.scrollIntoView({ block: 'nearest' })
    }
    if (event.key === 'Enter' && current) {
      event.preventDefault()
      onRun(current)
    }
  }

  return (
    <>
      <div className="flex items-center border-b border-line-strong pe-2 focus-within:shadow-[inset_0_-3px_0_var(--mark)]">
        <input
          className="min-w-0 flex-1 border-0 bg-transparent px-5 py-4 text-lg placeholder:text-muted focus-visible:shadow-none focus-visible:outline-none"
          role="combobox"
          aria-label="Search or jump to"
          aria-expanded="true"
          aria-controls={`${id}list`}
          aria-activedescendant={current && id + current.key}
          placeholder="Search clients and screens"
          autoComplete="off"
          spellCheck={false}
          dir="auto"
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            setAt(0)
          }}
          onKeyDown={onKeyDown}
        />
        <CloseButton />
      </div>
      <div
        className="max-h-[min(52vh,480px)] overflow-auto p-1.5"
        role="listbox"
        id={`${id}list`}
        aria-label="Results"
      >
        {groups.map((group) => (
          // biome-ignore lint/a11y/useSemanticElements: a listbox has no other groups.
          <div key={group.title} role="group" aria-label={group.title}>
            <p className="px-2.5 pt-1.5 pb-1 text-sm text-muted" aria-hidden="true">
              {group.title}
            </p>
            {group.commands.map((command) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: see the input
              <div
                key={command.key}
                id={id + command.key}
                role="option"
                className="flex cursor-pointer items-baseline justify-between gap-x-4 gap-y-1.5 rounded-md px-2.5 py-2.75 aria-selected:marked sm:py-2"
                aria-selected={command === current}
                // A browser also says so when the list moves under a pointer that rests.
                onMouseMove={({ movementX, movementY }) => {
                  if (movementX !== 0 || movementY !== 0) setAt(commands.indexOf(command))
                }}
                onClick={() => onRun(command)}
              >
                <bdi className="min-w-0">{command.title}</bdi>
                <span className="flex flex-none gap-x-3 text-sm text-muted">
                  {command.note && <code className="max-desk:hidden">{command.note}</code>}
                  {command.status && <span>{command.status}</span>}
                </span>
              </div>
            ))}
          </div>
        ))}
      </div>
      <p className={isSilent ? 'sr-only' : 'px-5 py-3 text-sm text-ink-2'} role="status">
        {isUnread
          ? UNREAD
          : commands.length === 0
            ? NOTHING_FOUND
            : text && foundText(count, commands.length)}
      </p>
    </>
  )
}

const UNREAD = 'The clients have not loaded, so only screens can be found.'

const NOTHING_FOUND =
  'Nothing found. Clients are found by name or id, screens by title. Your sessions, password and theme are in the account menu.'

const foundText = (count: number, listed: number): string =>
  count === listed ? `${count} found` : `${count} found, ${listed} listed`

/** Screens by their titles, with further words that find them. */
const FOUND_SCREENS: readonly [screen: Screen, title: string, words: string][] = [
  ['clients', 'OAuth2 Clients', 'create rotate replace revoke secrets keys scopes'],
  ['webhooks', 'Callback URL', 'webhooks receiver'],
  ['analytics', 'Analytics', ''],
  ['activity', 'Activity', 'audit log'],
  ['people', 'People', 'team users invite members roles'],
  ['explain', 'Explain a refusal', 'request id why refused error 401 403 429'],
]

/** Request ids are UUIDs, which nginx writes without hyphens. Any other text may be a name. */
const REQUEST_ID = /^[\da-f]{8}(?:-?[\da-f]{4}){3}-?[\da-f]{12}$/i

/**
 * Returns the matches by group: clients first, unless the title of a screen was typed. Clients need typed
 * text. A pasted request id leads to its explanation.
 */
function useGroups(text: string, all: readonly OAuthClient[]): Group[] {
  const { to, maySee } = useCompany()
  const [, navigate] = useLocation()
  const requestId = requestIdIn(text)
  // What holds more than the id, such as a header field, calls it one.
  const isRequestId = requestId !== undefined && (requestId !== text.trim() || REQUEST_ID.test(requestId))
  const explained = maySee('explain') && isRequestId
  const clients = [...all]
    .sort((a, b) => Number(a.status === 'Revoked') - Number(b.status === 'Revoked'))
    .map(({ clientId, name, status }) => ({
      key: clientId,
      title: name,
      note: clientId,
      status: status === 'Revoked' ? status : undefined,
      run: () => navigate(to('client', clientId)),
    }))
  const explanation: Command = {
    key: 'explain-request',
    title: 'Explain this request',
    note: requestId ?? '',
    words: text,
    run: () => navigate(to('explain', requestId)),
  }
  const screens = [
    ...(explained ? [explanation] : []),
    ...FOUND_SCREENS.filter(([key]) => maySee(key)).map(([key, title, words]) => ({
      ...{ key, title, words },
      run: () => navigate(to(key)),
    })),
    { key: 'docs', title: 'API documentation', words: 'docs help', run: () => location.assign(DOCS.start) },
  ]
  const groups = [search('Clients', text.trim() === '' ? [] : clients, text), search('Go to', screens, text)]
  const isTitle = screens.some(({ title }) => foldCase(title) === foldCase(text.trim()))
  return (isTitle ? groups.toReversed() : groups).filter(({ count }) => count > 0)
}

function search(title: string, commands: Command[], text: string): Group {
  const isTitle = (item: Command) => Number(foldCase(item.title) === foldCase(text.trim()))
  const matches = commands
    .filter((item) => finds(text, `${item.title} ${item.words ?? ''} ${item.status ?? ''}`, item.note))
    .sort((a, b) => isTitle(b) - isTitle(a))
  return { title, commands: matches.slice(0, SHOWN), count: matches.length }
}
