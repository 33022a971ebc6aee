const SOURCE_MAX_CHARACTERS = 200
const URL_MAX_CHARACTERS = 2_000
/** Words such as GitHub's `pull_request_title`. */
const WORDS = /^[A-Za-z][A-Za-z0-9 ._-]{0,59}$/
/** The start of a secret. A host name is in small letters, whatever was sent. */
const SECRET_START = /(?:ias|ses|inv)_[0-9a-z]{16}/i
const SECRET_PREFIX_CHARACTERS = 4
const RECOGNIZED_CHARACTERS = 16
const CUT = '...'

/**
 * Returns where a secret was found, in the words of whoever reports it: the host and path of the URL, else the kind of
 * place. Both are a stranger's text, so they become visible ASCII of bounded length. Neither the user, query or fragment
 * of a URL, where secrets are, nor anything that may repeat a secret is kept. null: nothing usable was said.
 */
export function sourceOf({
  token,
  url,
  source,
}: {
  token: string
  url?: unknown
  source?: unknown
}): string | null {
  const place = placeOf(url) ?? (typeof source === 'string' && WORDS.test(source) ? source : null)
  if (place === null || repeatsSecret(place, token)) return null
  if (place.length <= SOURCE_MAX_CHARACTERS) return place
  return place.slice(0, SOURCE_MAX_CHARACTERS - CUT.length) + CUT
}

function placeOf(url: unknown): string | null {
  const parsed = typeof url === 'string' && url.length <= URL_MAX_CHARACTERS && URL.parse(url)
  // Host and path of an http URL are ASCII without spaces (URL Standard §4.4).
  return parsed && /^https?:$/.test(parsed.protocol) ? parsed.host + parsed.pathname : null
}

function repeatsSecret(text: string, token: string): boolean {
  const part = token
    .slice(SECRET_PREFIX_CHARACTERS, SECRET_PREFIX_CHARACTERS + RECOGNIZED_CHARACTERS)
    .toLowerCase()
  return [text, decoded(text), decoded(decoded(text))].some(
    (each) => SECRET_START.test(each) || each.toLowerCase().includes(part),
  )
}

const decoded = (text: string): string =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
