export type UrlCheck =
  | { state: 'empty' }
  /** What is typed so far may still become a URL. */
  | { state: 'incomplete' }
  | { state: 'fine' }
  | { state: 'wrong'; reason: string }

const wrong = (reason: string): UrlCheck => ({ state: 'wrong', reason })

const MAX_BYTES = 2_048
const START = 'https://'
const CREDENTIAL_NAMES =
  /^(?:access[_-]?token|auth|api[_-]?key|apikey|key|passw(?:or)?d|secret|client[_-]?secret|sig|signature|token|x-amz-signature)$/i
const PRIVATE_IPV4 =
  /^(?:0|10|127|169\.254|192\.168|192\.0\.[02]|198\.1[89]|198\.51\.100|203\.0\.113|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])|22[4-9]|23\d|24\d|25[0-5])\./
const NEVER_PUBLIC =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|private|corp|home|lan|mail|arpa|onion|i2p|alt|test|example|invalid|svc)$/

/**
 * The commonest mistakes, told while one types. It only advises: the service judges by the whole list of rules, and
 * looks the name up, when the URL is saved.
 */
export function checkUrl(input: string): UrlCheck {
  const text = input.trim()
  if (text === '') return { state: 'empty' }
  if (START.startsWith(text.toLowerCase())) return { state: 'incomplete' }
  if (/^http:\/\//i.test(text)) return wrong('Use https: a callback is never sent unencrypted.')
  if (!text.toLowerCase().startsWith(START)) return wrong('Begin with https://')
  if (new TextEncoder().encode(text).length > MAX_BYTES) return wrong('At most 2,048 bytes.')
  if (/[\s\\]/.test(text)) return wrong('Remove the spaces and backslashes.')
  const authority = text.slice(START.length).split(/[/?#]/, 1)[0] ?? ''
  if (authority === '') return { state: 'incomplete' }
  if (authority.includes('@'))
    return wrong('Remove the user name and password: a URL must not carry credentials.')
  if (text.includes('#')) return wrong('Remove what begins with #: it is never sent to a server.')
  if (!URL.canParse(text)) return wrong('This is not a URL that a server can be reached by.')
  return checkParsed(new URL(text))
}

function checkParsed(url: URL): UrlCheck {
  const host = url.hostname
  if (host === 'localhost' || NEVER_PUBLIC.test(host)) {
    return wrong('This name is not on the public Internet: only your own network knows it.')
  }
  if (PRIVATE_IPV4.test(host) || /^\[(?:::|f[cdef])/.test(host)) {
    return wrong('This address is private: it cannot be reached from here.')
  }
  if (!host.includes('.') && !host.startsWith('[')) return { state: 'incomplete' }
  const port = Number(url.port || 443)
  if (port !== 443 && port < 1024) return wrong('Use port 443, or one from 1024 up.')
  const credential = [...url.searchParams.keys()].find((name) => CREDENTIAL_NAMES.test(name))
  if (credential) return wrong(`Remove “${credential}”: a URL must not carry credentials.`)
  return { state: 'fine' }
}
