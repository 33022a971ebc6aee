import { ApiProblem, Offline, retryIn } from '../api/request.ts'

export interface ErrorMessage {
  title: string
  text: string
  /** The code of the API's problem, if it answered with one. */
  code?: string | undefined
}

export const UNREACHABLE: ErrorMessage = {
  title: 'The service cannot be reached',
  text: 'Check your connection, then try again.',
}

/** How an error is put into words. */
export interface ErrorWords {
  /** The title of what has no words of its own. */
  title: string
  /** The title if the service failed or was not reached: what was sent may have been done nevertheless. */
  uncertain?: string
  /** For a request without an answer. By default the title, and that the service could not be reached. */
  noAnswer?: ErrorMessage
  /** By the code or status of the API's problem. A title alone is followed by the problem's own sentence. */
  [codeOrStatus: string | number]: ErrorMessage | string | undefined
}

/**
 * Returns why something failed, undefined without an error.
 * @param fieldsMarked whether a form shows the errors at its fields.
 */
export function explain(
  error: Error | null,
  words: ErrorWords,
  fieldsMarked = false,
): ErrorMessage | undefined {
  if (!error) return undefined
  if (error instanceof Offline)
    return { title: 'You are offline', text: 'Nothing was sent. Try again once you are connected.' }
  const { uncertain = words.title } = words
  if (!(error instanceof ApiProblem)) return words.noAnswer ?? { title: uncertain, text: error.message }
  const message = words[error.code ?? ''] ?? words[error.status]
  if (typeof message === 'object') return { ...message, code: error.code }
  const title = message ?? (error.status >= 500 ? uncertain : words.title)
  if (fieldsMarked) return { title, text: 'Correct the marked fields.' }
  return error.status === 429
    ? { title: message ?? 'Too many attempts', text: `Try again ${retryIn(error)}.`, code: error.code }
    : { title, text: error.message, code: error.code }
}
