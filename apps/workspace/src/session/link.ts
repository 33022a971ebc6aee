import { useSyncExternalStore } from 'react'

/*
 * The token of a link to join a company or to set a password. It is in the fragment, which is not sent to a
 * server or in a Referer. It is removed from the address bar and the history first of all, and kept in memory
 * only.
 */
export const INVITATION_PATH = '/invitation'
export const PASSWORD_RESET_PATH = '/password-reset'

/** What the history keeps of a link: that there was one. */
const OPENED = { linkOpened: true }

let token: string | undefined

function take(): void {
  const { pathname, hash } = location
  if ((pathname !== INVITATION_PATH && pathname !== PASSWORD_RESET_PATH) || hash.length < 2) return
  token = hash.slice(1)
  history.replaceState(OPENED, '', pathname)
}

take()
// The link, opened once more in the same tab. It is taken before anything that subscribes is called.
window.addEventListener('hashchange', take)

/** undefined: the page was opened without one, or reloaded. */
export const useLinkToken = (): string | undefined => useSyncExternalStore(subscribe, () => token)

/** Returns whether this page of the history was opened by a link, also once it is reloaded. */
export const isLinkOpened = (): boolean => history.state?.linkOpened === true

/** Call it once the link is of no more use. */
export const forgetLink = (): void => history.replaceState(null, '')

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener)
  return () => window.removeEventListener('hashchange', listener)
}
