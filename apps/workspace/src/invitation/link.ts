import { useSyncExternalStore } from 'react'

/*
 * The token of an invitation link. It is in the fragment, which is not sent to a server or in a Referer. It
 * is removed from the address bar and the history first of all, and kept in memory only.
 */
export const INVITATION_PATH = '/invitation'

let token: string | undefined
const listeners = new Set<() => void>()

function take(): void {
  if (location.pathname !== INVITATION_PATH || location.hash.length < 2) return
  token = location.hash.slice(1)
  history.replaceState(null, '', INVITATION_PATH)
  for (const listener of listeners) listener()
}

take()
// The link, opened once more in the same tab.
window.addEventListener('hashchange', take)

/** undefined: the page was opened without one, or reloaded. */
export const useInvitationToken = (): string | undefined => useSyncExternalStore(subscribe, () => token)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
