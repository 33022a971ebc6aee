/** An id as it stands in a header field, a log line or an error document. */
const NAMED = /(?:x-request-id|request[-_ ]?id)["'\s:=]+([A-Za-z0-9._-]{1,64})/i
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** The request id in what somebody pasted: the id alone, or a text that names it. @returns undefined if there is none. */
export function requestIdIn(pasted: string): string | undefined {
  const text = pasted.trim()
  if (REQUEST_ID.test(text)) return text
  return NAMED.exec(text)?.[1]
}
