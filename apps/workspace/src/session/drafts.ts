/*
 * Input that is not saved yet, by screen and company. In memory only: it outlives a change of screen and signing in
 * again after the session ran out, not a reload.
 */
const drafts = new Map<string, string>()

export const draftOf = (key: string): string | undefined => drafts.get(key)

export function keepDraft(key: string, text: string | undefined): void {
  if (text === undefined) drafts.delete(key)
  else drafts.set(key, text)
}

export function forgetDrafts(): void {
  drafts.clear()
}
