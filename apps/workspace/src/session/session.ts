import { useSyncExternalStore } from 'react'
import type { SessionAnswer } from '../api/contract.ts'
import { ApiProblem, type ApiRequest, request } from '../api/request.ts'

/*
 * The session token lives in memory and in sessionStorage, so that a reload keeps it and closing the tab forgets it.
 * It is in no URL, no log and no query cache.
 */
const STORAGE_KEY = 'session-token'

export type Session =
  /** `email`: of the person whose session expired. */
  | { state: 'signed-out'; reason?: 'expired' | 'left' | undefined; email?: string | undefined }
  /** A token from before a reload, not yet known to be good. */
  | { state: 'checking' }
  | { state: 'unreachable'; error: Error }
  | ({ state: 'signed-in'; expiresAt: number } & Pick<SessionAnswer, 'user' | 'companies'>)

let token = sessionStorage.getItem(STORAGE_KEY) ?? undefined
let session: Session = token ? { state: 'checking' } : { state: 'signed-out' }
let expiry: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<(session: Session) => void>()

export const useSession = (): Session => useSyncExternalStore(subscribe, () => session)

/** The session of a screen that is only shown to someone who has signed in. */
export function useSignedIn(): Extract<Session, { state: 'signed-in' }> {
  const current = useSession()
  if (current.state !== 'signed-in') throw new Error('shown without a session')
  return current
}

/** @returns the end of the subscription. */
export function subscribe(listener: (session: Session) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function become(next: Session): void {
  session = next
  for (const listener of listeners) listener(session)
}

function keep(next: string | undefined): void {
  token = next
  if (next === undefined) sessionStorage.removeItem(STORAGE_KEY)
  else sessionStorage.setItem(STORAGE_KEY, next)
}

function enter({ user, companies, expiresIn }: SessionAnswer): void {
  clearTimeout(expiry)
  expiry = setTimeout(expire, expiresIn * 1000)
  become({ state: 'signed-in', user, companies, expiresAt: Date.now() + expiresIn * 1000 })
}

function expire(): void {
  clearTimeout(expiry)
  keep(undefined)
  const email = session.state === 'signed-in' ? session.user.email : undefined
  become({ state: 'signed-out', reason: 'expired', email })
}

/** @throws ApiProblem `invalid_credentials` or `rate_limited`, or NoAnswer. */
export async function signIn(email: string, password: string): Promise<void> {
  const answer = await request<SessionAnswer & { sessionToken: string }>('/v1/session', {
    method: 'POST',
    body: { email, password },
  })
  keep(answer.sessionToken)
  enter(answer)
}

/** Ends the session here at once, whether or not the service hears of it. */
export async function signOut(): Promise<void> {
  const ending = token
  clearTimeout(expiry)
  keep(undefined)
  become({ state: 'signed-out', reason: 'left' })
  await request('/v1/session', { method: 'DELETE', token: ending }).catch(() => {})
}

/** Asks who this is, and which role they have where: at the start, and when the API refuses what a role should allow. */
export async function checkSession(): Promise<void> {
  const asked = token
  if (!asked) return
  try {
    const answer = await request<SessionAnswer>('/v1/session', { token: asked })
    if (token === asked) enter(answer)
  } catch (error) {
    if (token !== asked) return
    if (error instanceof ApiProblem && error.status === 401) expire()
    else if (session.state !== 'signed-in') become({ state: 'unreachable', error: error as Error })
  }
}

/** A request by the signed-in person. A 401 ends the session; a 403 reloads the roles. */
export async function asMe<T>(path: string, options: ApiRequest = {}): Promise<T> {
  const sent = token
  try {
    return await request<T>(path, { ...options, token: sent })
  } catch (error) {
    if (error instanceof ApiProblem && token === sent) {
      if (error.status === 401) expire()
      if (error.status === 403) void checkSession()
    }
    throw error
  }
}
