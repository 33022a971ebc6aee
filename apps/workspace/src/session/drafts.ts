/*
 * Unsaved input, by screen and company. It is only in memory: it survives a change of screen, and signing in again after
 * the session expired. A reload would lose it, so the browser asks first.
 */
const drafts = new Map<string, string>()

export const draftOf = (key: string): string | undefined => drafts.get(key)

export function keepDraft(key: string, text: string | undefined): void {
  if (text === undefined) drafts.delete(key)
  else drafts.set(key, text)
  warnWhileUnsaved()
}

export function forgetDrafts(): void {
  drafts.clear()
  warnWhileUnsaved()
}

function warnWhileUnsaved(): void {
  if (drafts.size > 0) window.addEventListener('beforeunload', warn)
  else window.removeEventListener('beforeunload', warn)
}

const warn = (event: BeforeUnloadEvent): void => event.preventDefault()
