const SOURCE_MAX_CHARACTERS = 200
const URL_MAX_CHARACTERS = 2_000
/** A kind of place, such as GitHub's `pull_request_title`. */
const WORDS = /^[A-Za-z][A-Za-z0-9 ._-]{0,59}$/
/** The start of a secret. Case is ignored, because URL parsing makes host names lowercase. */
const SECRET_START = /(?:ias|ses|inv|pwr)_[0-9a-z]{16}/i
const SECRET_PREFIX_CHARACTERS = 4
const RECOGNIZED_CHARACTERS = 16
const ELLIPSIS = '...'

/**
 * Returns where a secret was found, as the reporter says: the host and path of the URL, or else the kind of
 * place. Both are a stranger's text, so the result is visible ASCII of bounded length, without the user,
 * query and fragment of the URL, where secrets are. Returns null if it is unusable or may repeat a secret.
 */
export function sanitizeSource({
  token,
  url,
  source,
}: {
  token: string
  url?: unknown
  source?: unknown
}): string | null {
  const place = parsePlace(url) ?? (typeof source === 'string' && WORDS.test(source) ? source : null)
  if (place === null || repeatsSecret(place, token)) return null
  if (place.length <= SOURCE_MAX_CHARACTERS) return place
  return place.slice(0, SOURCE_MAX_CHARACTERS - ELLIPSIS.length) + ELLIPSIS
}

function parsePlace(url: unknown): string | null {
  const parsed = typeof url === 'string' && url.length <= URL_MAX_CHARACTERS && URL.parse(url)
  // Host and path of an http URL are ASCII without spaces (URL Standard §4.4).
  return parsed && /^https?:$/.test(parsed.protocol) ? parsed.host + parsed.pathname : null
}

function repeatsSecret(text: string, token: string): boolean {
  const recognizablePart = token
    .slice(SECRET_PREFIX_CHARACTERS, SECRET_PREFIX_CHARACTERS + RECOGNIZED_CHARACTERS)
    .toLowerCase()
  const decoded = decodePercent(text)
  return [text, decoded, decodePercent(decoded)].some(
    (form) => SECRET_START.test(form) || form.toLowerCase().includes(recognizablePart),
  )
}

const decodePercent = (text: string): string =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
