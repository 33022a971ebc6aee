import { duration } from './time.ts'

/** Longer than the slowest answers: revoking while Redis is unsure, and sending a test event. */
const DEADLINE_MS = 30_000

export interface ApiRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Sent as JSON. */
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
}

/** An answer of the API that is not 2xx (RFC 9457). `message` is its sentence for people. */
export class ApiProblem extends Error {
  readonly status: number
  /** Undefined when something other than the API answered. */
  readonly code: string | undefined
  readonly requestId: string | undefined
  readonly errors: readonly InputError[]
  /** Set when a form shows the errors at its fields. */
  fieldsMarked = false
  /** From Retry-After. */
  readonly retryAfterSeconds: number | undefined

  constructor(response: Response, body: ProblemBody) {
    super(
      sentences(body.errors ?? []) ||
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

/** When a request that came too often may be sent again: "in about 4 minutes". */
export function retryIn({ retryAfterSeconds: seconds }: ApiProblem): string {
  if (seconds === undefined) return 'in a while'
  return seconds < 90 ? `in ${duration(seconds)}` : `in about ${duration(Math.ceil(seconds / 60) * 60)}`
}

/** No answer came: no connection, the deadline, or an answer that is not the API's. */
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

/**
 * Returns the response’s JSON, undefined for 202 and 204.
 * @throws ApiProblem, NoAnswer, Offline, or the AbortError of `signal`.
 */
export async function request<T>(
  path: string,
  { method = 'GET', body, headers = {}, signal }: ApiRequest = {},
): Promise<T> {
  if (!navigator.onLine) throw new Offline()
  const deadline = AbortSignal.timeout(DEADLINE_MS)
  let response: Response
  let json: unknown
  try {
    response = await fetch(path, {
      method,
      headers: {
        Accept: 'application/json',
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    })
    json = await parseJson(response)
  } catch (error) {
    if (signal?.aborted) throw error
    throw new NoAnswer(error)
  }
  if (!response.ok) throw new ApiProblem(response, (json ?? {}) as ProblemBody)
  return json as T
}

async function parseJson(response: Response): Promise<unknown> {
  if (response.status === 202 || response.status === 204) return undefined
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch (error) {
    if (response.ok) throw error
    return undefined
  }
}
