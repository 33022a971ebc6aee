import { useEffect, useState } from 'react'
import { subscribe, useSignedIn } from '../api/session.ts'

/** What was typed and not sent when a session expired, by person, page and name. Kept in memory only. */
const drafts = new Map<string, unknown>()

subscribe((session) => {
  if (session.state === 'signed-out' && session.reason !== 'expired') drafts.clear()
  if (session.state !== 'signed-in') return
  for (const key of drafts.keys()) if (!key.startsWith(`${session.user.userId} `)) drafts.delete(key)
})

/**
 * The state of a form, or which one is open. After the session has expired, it is there again for the same
 * person on the same page.
 * @param name unique on the page.
 */
export function useDraft<T>(name: string, initial: T) {
  const { userId } = useSignedIn().user
  const [key] = useState(() => `${userId} ${location.pathname} ${name}`)
  const [value, setValue] = useState(() => (drafts.has(key) ? (drafts.get(key) as T) : initial))
  useEffect(() => {
    drafts.delete(key)
  }, [key])
  useEffect(
    () =>
      subscribe((session) => {
        if (session.state === 'signed-out' && session.reason === 'expired') drafts.set(key, value)
      }),
    [key, value],
  )
  return [value, setValue] as const
}
