import { useSyncExternalStore } from 'react'

/*
 * The token of an invitation link. It is the fragment of the address, which no server and no Referer gets, and leaves
 * the address bar and the history before anything else happens. It is kept in memory only.
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
