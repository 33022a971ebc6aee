import { isIP } from 'node:net'
import { domainToUnicode } from 'node:url'
import { CALLBACK_URL_PROBLEMS, type CallbackUrlProblemCode } from '../problems/callback-url-problems.ts'
import { ADDRESS_REASONS, type AddressReason, type AddressRule } from './address-verdict.ts'
import { hasCredentialParameter, hasSecret } from './url-credentials.ts'

/** A public https URL without credentials, normalised. `address` is set if its host is an IP literal. */
export interface PublicUrl {
  /** As serialised by the WHATWG parser. Checking it again gives the same verdict. */
  href: string
  /** A name, or an IP literal without the brackets of IPv6. */
  hostname: string
  /** The host for the activity log, with the port unless that is 443. */
  host: string
  port: number
  address: string | null
}

export type UrlVerdict =
  | { ok: true; url: PublicUrl }
  /** `addressReason` says why the IP literal is not public; null for every other code. */
  | { ok: false; code: CallbackUrlProblemCode; sentence: string; addressReason: AddressReason | null }

const MAX_BYTES = 2_048
/** Characters allowed around a pasted URL. */
const MAX_SPACES = 64
const MAX_NAME_CHARACTERS = 253
const HTTPS_PORT = 443
const FIRST_UNPRIVILEGED_PORT = 1_024
/** Ports from 1024 up that the fetch standard blocks (https://fetch.spec.whatwg.org/#port-blocking). */
const BAD_PORTS = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10080,
])
/**
 * Top-level names without public names: those of RFC 6761, 6762 (and its appendix G), 7686, 8375 and 9476,
 * ICANN's reserved `internal`, and those that private networks and clusters use.
 */
const RESERVED_TOP_LEVELS = new Set(
  'localhost local localdomain internal intranet intra private corp home lan mail arpa onion i2p alt test example invalid svc cluster consul docker loopback workgroup'.split(
    ' ',
  ),
)
const WHITE_SPACE = /[\s\p{Z}]/u
// The parser drops variation selectors, which emoji in names use.
const INVISIBLE =
  /[[\p{Cc}\p{Cf}\p{Cs}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}]--\p{Variation_Selector}]/v
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
const TOP_LEVEL = /^(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/

const refuse = (code: CallbackUrlProblemCode): UrlVerdict => ({
  ok: false,
  code,
  sentence: CALLBACK_URL_PROBLEMS[code],
  addressReason: null,
})

function refuseAddress(addressReason: AddressReason): UrlVerdict {
  const code = 'callback_url_private_address'
  const sentence = `The host is ${ADDRESS_REASONS[addressReason]}. ${CALLBACK_URL_PROBLEMS[code]}`
  return { ok: false, code, sentence, addressReason }
}

/**
 * Checks a URL as a person typed it. Pure, without DNS. The raw text is checked before the parsed URL,
 * because the WHATWG parser silently repairs much that would deceive a reader.
 */
export function checkPublicUrl(input: unknown, checkAddress: AddressRule): UrlVerdict {
  if (input === null) return refuse('callback_url_empty')
  if (typeof input !== 'string') return refuse('callback_url_not_text')
  if (input.length > MAX_BYTES + MAX_SPACES) return refuse('callback_url_too_long')
  const text = withoutSpacesAround(input)
  const code = textProblem(text)
  if (code) return refuse(code)
  const url = URL.parse(text)
  if (!url) return refuse('callback_url_malformed')
  return checkParsedUrl(url, checkAddress)
}

/**
 * Returns a URL's host for the log: an address, or a name of at least two labels. Returns null for anything
 * else, which may be a secret pasted into the wrong field.
 */
export function hostToLog(input: unknown): string | null {
  if (typeof input !== 'string' || input.length > MAX_BYTES + MAX_SPACES) return null
  const host = URL.parse(input)?.hostname.replace(/^\[|\]$/g, '') ?? ''
  const labels = host.split('.')
  return isIP(host) || (labels.length > 1 && labels.every(isHostLabel)) ? host : null
}

function withoutSpacesAround(text: string): string {
  let start = 0
  let end = text.length
  while (text[start] === ' ') start += 1
  while (end > start && text[end - 1] === ' ') end -= 1
  return text.slice(start, end)
}

/** Returns the first rule that the raw text violates. */
function textProblem(text: string): CallbackUrlProblemCode | undefined {
  if (text === '') return 'callback_url_empty'
  if (Buffer.byteLength(text) > MAX_BYTES) return 'callback_url_too_long'
  if (WHITE_SPACE.test(text)) return 'callback_url_white_space'
  if (INVISIBLE.test(text)) return 'callback_url_invisible_character'
  if (text.includes('\\')) return 'callback_url_backslash'
  if (!/^https:/i.test(text)) return 'callback_url_not_https'
  const [, authority] = /^https:\/\/([^/?#]+)/i.exec(text) ?? []
  if (authority === undefined) return 'callback_url_malformed'
  if (authority.includes('@')) return 'callback_url_userinfo'
  if (authority.includes('%')) return 'callback_url_encoded_host'
  if (text.includes('#')) return 'callback_url_fragment'
  return undefined
}

function checkParsedUrl(url: URL, checkAddress: AddressRule): UrlVerdict {
  if (Buffer.byteLength(url.href) > MAX_BYTES) return refuse('callback_url_too_long')
  if (url.username || url.password) return refuse('callback_url_userinfo')
  const port = url.port === '' ? HTTPS_PORT : Number(url.port)
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  let address: string | null = null
  if (isIP(hostname)) {
    const verdict = checkAddress(hostname)
    if (!verdict.public) return refuseAddress(verdict.reason)
    address = verdict.address
  } else {
    const code = nameProblem(hostname)
    if (code) return refuse(code)
  }
  if (port !== HTTPS_PORT && (port < FIRST_UNPRIVILEGED_PORT || BAD_PORTS.has(port))) {
    return refuse('callback_url_port')
  }
  if (hasCredentialParameter(url)) return refuse('callback_url_credential')
  if (hasSecret(url)) return refuse('callback_url_secret')
  return { ok: true, url: { href: url.href, hostname, host: url.host, port, address } }
}

/**
 * Returns the first rule that the host name violates.
 * @param name as the parser returns it: lower case, Unicode as punycode.
 */
function nameProblem(name: string): CallbackUrlProblemCode | undefined {
  if (name.endsWith('.')) return 'callback_url_trailing_dot'
  const labels = name.split('.')
  const top = labels.at(-1) ?? ''
  if (RESERVED_TOP_LEVELS.has(top)) return 'callback_url_reserved_name'
  if (name.length > MAX_NAME_CHARACTERS || !labels.every(isHostLabel)) {
    return 'callback_url_host_name'
  }
  if (labels.length < 2) return 'callback_url_single_label'
  // No top-level domain contains a digit or hyphen, in any alphabet.
  if (!TOP_LEVEL.test(top) || !/^[\p{L}\p{M}]+$/u.test(domainToUnicode(top))) return 'callback_url_top_level'
  return undefined
}

/** Punycode that cannot be decoded (RFC 3492) stays as it is. */
const isHostLabel = (label: string): boolean =>
  LABEL.test(label) && (!label.startsWith('xn--') || domainToUnicode(label) !== label)
