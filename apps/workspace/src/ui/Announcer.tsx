import { useSyncExternalStore } from 'react'

let text = ''
const listeners = new Set<() => void>()

/** Has a screen reader say something that is seen elsewhere already. */
export function announce(next: string): void {
  text = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * One live region for the whole page: one for every button would be read out with each row of a table. An open dialog
 * hides everything else from assistive technology but what has the aria-live attribute.
 */
export const Announcer = () => (
  <p className="off-screen" role="status" aria-live="polite">
    {useSyncExternalStore(subscribe, () => text)}
  </p>
)
