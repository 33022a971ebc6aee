import { CALLBACK_URL_PROBLEMS, type CallbackUrlProblemCode } from '#shared/problems/callback-url-problems.ts'

export type UrlCheck =
  | { state: 'empty' }
  /** What is typed so far may still become a URL. */
  | { state: 'incomplete' }
  | { state: 'fine' }
  /** Nothing that is typed after it makes it right; `reason` is the service's own sentence. */
  | { state: 'wrong'; code: CallbackUrlProblemCode; reason: string }

const MAX_BYTES = 2_048
const START = 'https://'
/** Up to the `=`: a name may go on. */
const CREDENTIAL =
  /[?&](?:access[_-]?token|api[_-]?key|password|secret|client[_-]?secret|sig|signature|token|x-amz-signature)=/i
const PRIVATE_IPV4 =
  /^(?:0|10|127|169\.254|192\.168|192\.0\.[02]|198\.1[89]|198\.51\.100|203\.0\.113|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])|22[4-9]|23\d|24\d|25[0-5])\.[\d.]+$/
const PRIVATE_IPV6 = /^\[(?:::|f[cdef])/
const NEVER_PUBLIC =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|private|corp|home|lan|mail|arpa|onion|i2p|alt|test|example|invalid|svc)$/

const wrong = (code: CallbackUrlProblemCode): UrlCheck => ({
  state: 'wrong',
  code,
  reason: CALLBACK_URL_PROBLEMS[code].sentence,
})

/**
 * Finds the most common mistakes while a URL is typed. It only advises, and never rejects what the service accepts.
 * The service applies every rule, and resolves the name, when the URL is saved.
 * @param whole whether typing is over. Until then, a host at the end of the text may be incomplete.
 */
export function checkUrl(input: string, { whole }: { whole: boolean }): UrlCheck {
  const text = input.trim()
  if (text === '') return { state: 'empty' }
  if (START.startsWith(text.toLowerCase())) return unfinished(whole)
  if (!text.toLowerCase().startsWith(START)) return wrong('callback_url_not_https')
  if (new TextEncoder().encode(text).length > MAX_BYTES) return wrong('callback_url_too_long')
  if (/\s/.test(text)) return wrong('callback_url_white_space')
  if (text.includes('\\')) return wrong('callback_url_backslash')
  const authority = text.slice(START.length).split(/[/?#]/, 1)[0] ?? ''
  if (authority.includes('@')) return wrong('callback_url_userinfo')
  if (text.includes('#')) return wrong('callback_url_fragment')
  const hostIsWhole = whole || text.length > START.length + authority.length
  if (authority === '' || !URL.canParse(text)) return unfinished(hostIsWhole)
  return checkParsed(new URL(text), hostIsWhole)
}

const unfinished = (whole: boolean): UrlCheck =>
  whole ? wrong('callback_url_malformed') : { state: 'incomplete' }

function checkParsed(url: URL, hostIsWhole: boolean): UrlCheck {
  const host = url.hostname
  const code = NEVER_PUBLIC.test(host)
    ? 'callback_url_reserved_name'
    : PRIVATE_IPV4.test(host) || PRIVATE_IPV6.test(host)
      ? 'callback_url_private_address'
      : !host.includes('.') && !host.startsWith('[')
        ? 'callback_url_single_label'
        : Number(url.port || 443) !== 443 && Number(url.port) < 1024
          ? 'callback_url_port'
          : undefined
  if (code) return hostIsWhole ? wrong(code) : { state: 'incomplete' }
  return CREDENTIAL.test(url.search) ? wrong('callback_url_credential') : { state: 'fine' }
}
