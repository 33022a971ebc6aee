import createClient from 'openapi-fetch'
import type { paths } from './openapi.d.ts'
import { duration } from './time.ts'

/** Longer than the slowest answers: revoking while Redis is unsure, and sending a test event. */
const DEADLINE_MS = 30_000

/** An answer of the API that is not 2xx (RFC 9457). `message` is its sentence for people. */
export class ApiProblem extends Error {
  readonly status: number
  /** Undefined when something other than the API answered. */
  readonly code: string | undefined
  readonly requestId: string | undefined
  readonly errors: readonly InputError[]
  /** From Retry-After. */
  readonly retryAfterSeconds: number | undefined

  constructor(response: Response, body: ProblemBody) {
    super(
      // What repeats the detail is a sentence already.
      sentences((body.errors ?? []).filter(({ detail }) => detail !== body.detail)) ||
        (body.detail ?? body.title ?? `The service answered with status ${response.status}.`),
    )
    this.status = response.status
    this.code = body.code
    this.requestId = body.requestId ?? response.headers.get('x-request-id') ?? undefined
    this.errors = body.errors ?? []
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
    this.retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : undefined
  }
}

/** "name must not be empty." */
const sentences = (errors: readonly InputError[]): string =>
  errors.map(({ pointer, detail }) => `${pointer.replace(/^\//, '') || 'The input'} ${detail}.`).join(' ')

/** When a request that came too often may be sent again, rounded up: "in about 4 minutes". */
export function retryIn({ retryAfterSeconds: seconds }: ApiProblem): string {
  if (seconds === undefined) return 'in a while'
  const unit_s = seconds > 3_600 ? 3_600 : seconds > 60 ? 60 : 1
  return `in ${unit_s > 1 ? 'about ' : ''}${duration(Math.ceil(seconds / unit_s) * unit_s)}`
}

/** No answer came: no connection, the deadline, a cancellation, or an answer that is not the API's. */
export class NoAnswer extends Error {
  constructor(cause: unknown) {
    super('The service could not be reached.', { cause })
  }
}

/** This device has no connection, so nothing was sent. */
export class Offline extends Error {
  constructor() {
    super('You are offline. Nothing was sent.')
  }
}

/** Whether a request may have succeeded, although no answer says so. */
export const mayHaveSucceeded = (error: unknown): boolean =>
  !(error instanceof Offline || (error instanceof ApiProblem && error.status < 500))

interface InputError {
  /** RFC 6901 pointer into the body, or `?name` for a query parameter. */
  pointer: string
  detail: string
}

interface ProblemBody {
  title?: string
  detail?: string
  code?: string
  requestId?: string
  errors?: InputError[]
}

/** The API as its document describes it: what has another path, input or answer does not compile. */
export const api = createClient<paths>({
  headers: { Accept: 'application/json' },
  cache: 'no-store',
  credentials: 'same-origin',
  redirect: 'error',
  referrerPolicy: 'no-referrer',
  async fetch(request) {
    if (!navigator.onLine) throw new Offline()
    return fetch(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(DEADLINE_MS)]) })
  },
})

/** Answers with these have no body. */
const EMPTY_STATUSES = [202, 204]

/** What a method of `api` returns. */
export type Answer<T> = Promise<{ data?: T; error?: unknown; response: Response }>

/** Returns the data of an answer, undefined if it has none. @throws ApiProblem, NoAnswer or Offline */
export async function request<T>(answer: Answer<T>): Promise<T> {
  const { data, error, response } = await answer.catch((cause) => {
    throw cause instanceof Offline ? cause : new NoAnswer(cause)
  })
  if (!response.ok) throw new ApiProblem(response, isObject(error) ? error : {})
  if (data === undefined && !EMPTY_STATUSES.includes(response.status)) throw new NoAnswer('an empty answer')
  return data as T
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
