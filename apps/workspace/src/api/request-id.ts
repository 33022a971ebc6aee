/** An id in a header field, a log line or an error document. */
const NAMED = /(?:x-request-id|request[-_ ]?id)["'\s:=]+([A-Za-z0-9._-]{1,64})/i
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** Returns the request id that pasted text is or names, undefined if there is none. */
export function requestIdIn(input: string): string | undefined {
  const text = input.trim()
  return REQUEST_ID.test(text) ? text : NAMED.exec(text)?.[1]
}
