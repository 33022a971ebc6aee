import { useState } from 'react'
import { useLocation } from 'wouter'
import { useCompany } from '../api/company.ts'
import { idleTime, signOut, useSignedIn } from '../api/session.ts'
import { ChangePassword } from '../session/ChangePassword.tsx'
import { useSignInMethods } from '../session/openid.ts'
import { Sessions } from '../session/Sessions.tsx'
import { Menu, MenuChoice, MenuItem, MenuLabel, MenuLine } from '../ui/Menu.tsx'
import { Time } from '../ui/Time.tsx'
import { THEMES, type Theme, useTheme } from '../ui/theme.tsx'

/** Who is signed in and until when, one's sessions and password, and the theme. */
export function AccountMenu() {
  const session = useSignedIn()
  const { user, expiresAt } = session
  const { clock } = useCompany()
  const [, navigate] = useLocation()
  const [open, setOpen] = useState<'sessions' | 'password'>()
  const [theme, setTheme] = useTheme()
  const methods = useSignInMethods()
  const close = () => setOpen(undefined)
  function leave(): void {
    void signOut()
    navigate('/')
  }
  return (
    <>
      <Menu
        trigger={
          <button
            type="button"
            className="flex cursor-pointer items-center gap-2.75 rounded-md border-0 bg-transparent p-1 text-start hover:bg-sunk data-[state=open]:bg-sunk desk:p-2"
          >
            <span
              className="grid size-9 flex-none place-items-center rounded-full border border-control text-sm font-strong"
              aria-hidden="true"
            >
              {initials(user.name)}
            </span>
            <span className="grid min-w-0 leading-snug max-desk:sr-only">
              <bdi className="truncate font-medium">{user.name}</bdi>
              <span className="truncate text-sm text-muted">{user.email}</span>
            </span>
          </button>
        }
      >
        <div className="grid px-2.5 py-1.5">
          <bdi className="font-strong">{user.name}</bdi>
          <span className="text-sm text-muted">{user.email}</span>
          <span className="text-sm text-muted">
            Signed in until <Time at={expiresAt} format="time" /> at the latest. Ends after{' '}
            {idleTime(session)} without use.
          </span>
          <span className="text-sm text-muted">Times are in {clock.zone}.</span>
        </div>
        <MenuLine />
        <MenuItem onSelect={() => setOpen('sessions')}>Your sessions</MenuItem>
        {methods?.builtInAccounts && (
          <MenuItem onSelect={() => setOpen('password')}>Change your password</MenuItem>
        )}
        <MenuItem onSelect={leave}>Sign out</MenuItem>
        <MenuLine />
        <MenuLabel>Theme</MenuLabel>
        <MenuChoice value={theme} onChange={(value) => setTheme(value as Theme)} options={THEMES} />
      </Menu>
      {open === 'sessions' && <Sessions onClose={close} />}
      {open === 'password' && <ChangePassword onClose={close} />}
    </>
  )
}

/** The first letters of the first and the last word. */
function initials(name: string): string {
  const letters = name.split(/\s+/).flatMap((word) => [...word].slice(0, 1))
  return [...letters.slice(0, 1), ...letters.slice(1).slice(-1)].join('').toLocaleUpperCase('en')
}
