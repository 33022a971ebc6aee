import { useEffect, useState } from 'react'
import type { SignInMethods } from '../api/contract.ts'
import { api, request } from '../api/request.ts'
import { signedOut } from '../api/session.ts'
import type { ErrorMessage } from '../ui/explain.ts'

const METHODS_DEADLINE_MS = 5_000
let cache: SignInMethods | undefined
let pending: Promise<SignInMethods> | undefined

/**
 * Returns the sign-in methods. Falls back to the form without an answer: signing in then says what is wrong.
 * Returns undefined until it is known.
 */
export function useSignInMethods(): SignInMethods | undefined {
  const [methods, setMethods] = useState(cache)
  useEffect(() => {
    if (!methods) void signInMethods().then(setMethods)
  }, [methods])
  return methods
}

async function signInMethods(): Promise<SignInMethods> {
  try {
    pending ??= request(api.GET('/v1/sign-in', { signal: AbortSignal.timeout(METHODS_DEADLINE_MS) }))
    cache = await pending
    return cache
  } catch {
    pending = undefined
    return { builtInAccounts: true, mail: false, openid: null }
  }
}

const PATH_MAX_CHARACTERS = 1_000

/**
 * Leaves for the provider, which leads back to this address, or to its path if the whole is too long.
 * @param fresh whether the person has to sign in there again.
 * @throws ApiProblem, NoAnswer or Offline
 */
export async function leaveForProvider({ fresh = false } = {}): Promise<void> {
  await signedOut()
  const { pathname, search } = location
  const to = [pathname + search, pathname].find(({ length }) => length <= PATH_MAX_CHARACTERS) ?? '/'
  const { authorizationUrl } = await request(api.POST('/v1/session/openid', { body: { to, fresh } }))
  location.assign(authorizationUrl)
}

/** The outcome of a sign-in with the provider, from the fragment: `done`, or why it failed. */
export const landing = takeLanding()

function takeLanding(): string | undefined {
  const outcome = /^#sign-in=([a-z_]{1,40})$/.exec(location.hash)?.[1]
  if (outcome) history.replaceState(history.state, '', location.pathname + location.search)
  return outcome
}

const AGAIN = 'Try again. If it keeps happening, tell the operator of this service.'
const ASK = 'Ask the people who manage accounts in your company.'

const LANDING_FAILURES: Record<string, [title: string, text: string]> = {
  cancelled: ['You have not signed in', 'The sign-in was cancelled.'],
  expired: [
    'The sign-in is no longer valid',
    'It took longer than ten minutes, was already used, or restarted in another window. Try again.',
  ],
  unreachable: ['The sign-in service does not answer', 'Try again in a moment.'],
  not_trusted: ['The sign-in could not be verified', AGAIN],
  no_email: ['Your account has no verified email address', ASK],
  no_company: ['Your account belongs to no company here', ASK],
  no_role: ['Your account has no role here', ASK],
  account_exists: [
    'Your email address already has an account here',
    'It is not connected to this way of signing in. Ask the operator of this service.',
  ],
  other_company: [
    'Your account also belongs to another company',
    'That company does not accept this way of signing in. Ask the operator of this service.',
  ],
  removed: ['You do not belong to this company here', 'Ask the operator of this service.'],
  suspended: ['Your access is suspended', 'Ask the owner of your company.'],
  company_full: ['Your company has too many people', 'Ask its owner to remove someone first.'],
}

/** Why signing in with the provider failed, undefined if it did not. */
export function landingFailure(): ErrorMessage | undefined {
  if (landing === undefined || landing === 'done') return undefined
  const [title, text] = LANDING_FAILURES[landing] ?? ['You could not be signed in', AGAIN]
  return { title, text }
}
