import { useSyncExternalStore } from 'react'

let announcement = ''
const listeners = new Set<() => void>()

/** Has a screen reader say something that is seen elsewhere already. */
export function announceText(text: string): void {
  announcement = text
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * One live region for the whole page, since one in each button would be read out with every row of a table.
 * It needs the aria-live attribute: an open dialog hides everything else from assistive technology.
 */
export const Announcer = () => (
  <p className="sr-only" role="status" aria-live="polite">
    {useSyncExternalStore(subscribe, () => announcement)}
  </p>
)
