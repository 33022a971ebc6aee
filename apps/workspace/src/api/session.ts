import { useSyncExternalStore } from 'react'
import type { InvitationPreview, Role, SessionAnswer, SignedOut } from './contract.ts'
import { type Answer, ApiProblem, api, NoAnswer, request } from './request.ts'
import { duration } from './time.ts'

/*
 * The session is a cookie that scripts cannot read. What is known of it here came from the service. The tabs
 * of a browser notify each other when someone signs in or out.
 */
const tabs = new BroadcastChannel('session')

export type CurrentSession =
  /**
   * `everywhere`: the person ended all of their sessions. `unfinished`: the service did not confirm a
   * sign-out, so the cookie may still be valid. `finished`: it did when asked again. `email`: the person's
   * whose session expired.
   */
  | {
      state: 'signed-out'
      reason?: 'expired' | 'left' | 'everywhere' | 'unfinished' | 'finished' | undefined
      email?: string | undefined
    }
  /** Not yet known: the service has been current. */
  | { state: 'checking' }
  | { state: 'unreachable'; error: Error }
  | ({ state: 'signed-in' } & SessionAnswer)

let session: CurrentSession = { state: 'checking' }
/** Counts sign-ins and sign-outs, so that a late answer says nothing about the session after its own. */
let turn = 0
let signingOut: Promise<void> | undefined
let expiry: ReturnType<typeof setTimeout> | undefined
let retry: ReturnType<typeof setTimeout> | undefined
const RETRY_MS = 5_000
const listeners = new Set<(session: CurrentSession) => void>()

export const useSession = (): CurrentSession => useSyncExternalStore(subscribe, () => session)

/** The session of a screen that is only shown to someone who has signed in. */
export function useSignedIn(): Extract<CurrentSession, { state: 'signed-in' }> {
  const current = useSession()
  if (current.state !== 'signed-in') throw new Error('shown without a session')
  return current
}

const signedIn = () => (session.state === 'signed-in' ? session : undefined)

/** How long a session may go unused: "2 hours", "90 minutes". */
export const idleTime = ({ idleMinutes }: Pick<SessionAnswer, 'idleMinutes'>): string =>
  idleMinutes % 60 === 0 ? duration(idleMinutes * 60) : `${idleMinutes} minutes`

/** How long the session may go unused, or undefined if there is none. */
export const idleMinutes = (): number | undefined => signedIn()?.idleMinutes

/** The person's role in a company when the session was last read, or undefined if they have none. */
export const roleIn = (vendorId: string): Role | undefined =>
  signedIn()?.companies.find((company) => company.vendorId === vendorId)?.role

/** Returns a function that ends the subscription. */
export function subscribe(listener: (session: CurrentSession) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function setSession(next: CurrentSession): void {
  session = next
  for (const listener of listeners) listener(session)
}

function enter(answer: SessionAnswer): void {
  const { user, expiresIn } = answer
  // Someone else has signed in in another tab: nothing of the first person may stay.
  if (session.state === 'signed-in' && session.user.userId !== user.userId) leave({ reason: 'left' })
  clearTimeout(expiry)
  expiry = setTimeout(expire, expiresIn * 1000)
  setSession({ state: 'signed-in', ...answer })
}

function leave(how: Omit<Extract<CurrentSession, { state: 'signed-out' }>, 'state'>): void {
  turn++
  clearTimeout(expiry)
  setSession({ state: 'signed-out', ...how })
}

function expire(): void {
  if (session.state === 'signed-in') leave({ reason: 'expired', email: session.user.email })
  else if (session.state !== 'signed-out') leave({})
}

/** @throws ApiProblem `invalid_credentials` or `rate_limited`, or NoAnswer. */
export const signIn = (email: string, password: string): Promise<void> =>
  begin(() => api.POST('/v1/session', { body: { email, password, cookie: true } }))

/** @throws ApiProblem `invitation_not_valid` or `rate_limited`, or NoAnswer. */
export const readInvitation = (token: string, signal: AbortSignal): Promise<InvitationPreview> =>
  request(api.POST('/v1/invitation/preview', { body: { token }, signal }))

/**
 * Joins the company of an invitation and signs in.
 * @param name of a new account.
 * @param existingAccount whether the password is that of an account: no new one is made then.
 * @throws ApiProblem `invitation_not_valid`, `invalid_input`, or as signIn.
 */
export const acceptInvitation = (accepted: {
  token: string
  password: string
  name?: string
  existingAccount: boolean
}): Promise<void> => begin(() => api.POST('/v1/invitation', { body: { ...accepted, cookie: true } }))

/** Mails a link if there is an account, which the answer does not say. @throws ApiProblem or NoAnswer. */
export const requestPasswordReset = (email: string): Promise<void> =>
  request(api.POST('/v1/password-reset', { body: { email } }))

/** @throws ApiProblem `password_reset_not_valid`, `invalid_input` or `rate_limited`, or NoAnswer. */
export const setForgottenPassword = (token: string, password: string): Promise<void> =>
  request(api.POST('/v1/password-reset/confirm', { body: { token, password } }))

/** Ends this person's other sessions. @throws ApiProblem `invalid_input` or `rate_limited`, or NoAnswer. */
export const sendPasswordChange = (change: { currentPassword: string; newPassword: string }): Promise<void> =>
  authenticatedRequest(api.PUT('/v1/session/password', { body: change }))

/** The answer to signing out clears the cookie, so it must not come after a new one. */
export const signedOut = async (): Promise<void> => signingOut

async function begin(send: () => Answer<SessionAnswer>): Promise<void> {
  await signedOut()
  const answer = await request(send())
  turn++
  enter(answer)
  tabs.postMessage('signed in')
}

/** Clears the session from all tabs at once, and ends it at the service. */
export function signOut(): Promise<void> {
  const again = session.state === 'signed-out'
  leave({ reason: again ? 'unfinished' : 'left' })
  tabs.postMessage('signed out')
  signingOut = endSession(turn, again)
  return signingOut
}

/**
 * Ends all of this person's sessions. Other browsers notice with their next request.
 * @throws ApiProblem, NoAnswer or Offline: then nothing may have ended, and this session is kept.
 */
export async function signOutEverywhere(): Promise<void> {
  let answer: SignedOut | undefined
  try {
    answer = await request(api.DELETE('/v1/session', { params: { query: { all: 'true' } } }))
  } catch (error) {
    // An earlier try, whose answer was lost, ended this session too.
    if (!(error instanceof ApiProblem && error.status === 401)) throw error
  }
  leave({ reason: 'everywhere' })
  tabs.postMessage('signed out')
  leaveProvider(answer)
}

/** Signs out at the OpenID provider too, if it began the session. It leads back to the sign-in page. */
function leaveProvider(answer: SignedOut | undefined): void {
  if (answer) location.assign(answer.signOutUrl)
}

async function endSession(startTurn: number, again: boolean): Promise<void> {
  try {
    const answer = await request(api.DELETE('/v1/session'))
    if (turn === startTurn) leaveProvider(answer)
  } catch (error) {
    const hasEnded = error instanceof ApiProblem && error.status === 401
    if (!hasEnded && turn === startTurn) setSession({ state: 'signed-out', reason: 'unfinished' })
    if (!hasEnded) return
  }
  if (again && turn === startTurn) setSession({ state: 'signed-out', reason: 'finished' })
}

tabs.addEventListener('message', ({ data }) => {
  if (data === 'signed in') void checkSession()
  else if (session.state !== 'signed-out') leave({ reason: 'left' })
})

/** Asks who this is after a sign-in elsewhere, which the other tabs have not seen either. */
export async function checkNewSession(): Promise<void> {
  await checkSession()
  tabs.postMessage('signed in')
}

/**
 * Reads the person and their roles, at the start and when the API refuses what a role should allow. While the
 * start fails, it is tried again and again.
 */
export async function checkSession(): Promise<void> {
  clearTimeout(retry)
  const current = turn
  try {
    const answer = await request(api.GET('/v1/session'))
    if (turn === current) enter(answer)
  } catch (error) {
    if (turn !== current) return
    if (error instanceof ApiProblem && error.status === 401) expire()
    else if (session.state === 'checking' || session.state === 'unreachable') {
      setSession({ state: 'unreachable', error: error as Error })
      retry = setTimeout(() => void checkSession(), RETRY_MS)
    }
  }
}

/** Tries the start again on request. It is shown, so that its failure is read out like the first. */
export function checkSessionAgain(): Promise<void> {
  setSession({ state: 'checking' })
  return checkSession()
}

/**
 * A request by the signed-in person. A 401 ends the session, and a 403 reloads the roles.
 * @throws NoAnswer also if the answer arrives when this person is no longer signed in: it may have a secret.
 */
export async function authenticatedRequest<T>(answer: Answer<T>): Promise<T> {
  const [startTurn, userId] = [turn, signedIn()?.user.userId]
  try {
    const data = await request(answer)
    if (signedIn()?.user.userId !== userId) throw new NoAnswer('an answer to someone else')
    return data
  } catch (error) {
    if (error instanceof ApiProblem && turn === startTurn) {
      if (error.status === 401) expire()
      if (error.status === 403) void checkSession()
    }
    throw error
  }
}
