import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { type BlockList, isIP, isIPv6, SocketAddress } from 'node:net'
import { CLIENT_SECRET_PATTERN, LINK_TOKEN_PATTERN, SESSION_TOKEN_PATTERN } from '#shared/oauth/ids.ts'
import type { CommonConfig } from '#shared/process/config.ts'
import type { Log } from '#shared/process/log.ts'

const SECRETS = [CLIENT_SECRET_PATTERN, SESSION_TOKEN_PATTERN, LINK_TOKEN_PATTERN]
const CALLER_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/
type ProxySettings = Pick<CommonConfig, 'TRUSTED_PROXIES' | 'TRUSTED_PROXY_HEADER'>

/** Who sent a request, and under which id it is logged and answered. */
export interface RequestContext {
  /** Generated here, or by the trusted proxy in front. */
  requestId: string
  /** The caller's own id for the request, if it sent a usable one. Logged, never trusted. */
  callerRequestId: string | undefined
  /** The peer's address, or what a trusted proxy says it is. IPv4 in dotted form. */
  clientAddress: string
  /** The trace-id of W3C Trace Context, if a trusted proxy sent a traceparent. */
  traceId: string | undefined
}

/**
 * A trusted proxy overwrites X-Request-Id, overwrites or adds to TRUSTED_PROXY_HEADER, and passes the
 * caller's own id on as X-Caller-Request-Id. It may add a traceparent. From anyone else these headers say
 * nothing. Returns a reader of a request's context, which warns once where limits may see all callers as one.
 */
export function createContextReader(config: ProxySettings, log: Log) {
  const { TRUSTED_PROXIES: proxies, TRUSTED_PROXY_HEADER: header } = config
  const field = header.toLowerCase()
  const warned = new Set<string>()
  function warnOnce(about: { event: `proxy.${'untrusted' | 'unreadable'}`; peer: string }, reason: string) {
    if (!warned.has(about.event)) log.warn(about, `${header} is ignored: ${reason}`)
    warned.add(about.event)
  }
  return (request: IncomingMessage): RequestContext => {
    const { headers } = request
    const peer = plainAddress(request.socket.remoteAddress ?? '')
    const trusted = includes(proxies, peer)
    const forwarded = trusted ? forwardedAddress(headers, peer) : peer
    if (!trusted && headers[field]) warnOnce({ event: 'proxy.untrusted', peer }, 'no trusted proxy sent it')
    else if (!forwarded) warnOnce({ event: 'proxy.unreadable', peer }, 'it does not name the caller')
    const requestId = usableId(trusted ? headers['x-request-id'] : undefined) ?? randomUUID()
    const callerRequestId = usableId(headers[trusted ? 'x-caller-request-id' : 'x-request-id'])
    const traceId = trusted ? parseTraceId(headers.traceparent) : undefined
    return { requestId, callerRequestId, clientAddress: forwarded ?? peer, traceId }
  }

  /** Returns the nearest address that no trusted proxy holds, from the right; undefined if one wrote none. */
  function forwardedAddress(headers: IncomingHttpHeaders, peer: string): string | undefined {
    const text = headers[field]
    if (!text) return headers.forwarded || headers['x-forwarded-for'] ? undefined : peer
    for (const element of String(text).split(',').reverse()) {
      const hop = plainAddress(header === 'Forwarded' ? readFor(element) : element.trim())
      // What is further left may be the caller's own words.
      if (!isIP(hop)) return undefined
      if (!includes(proxies, hop)) return hop
    }
    return peer
  }
}

/** version-traceid-parentid-flags (W3C Trace Context §3.2); a version after 00 may have more after them. */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/

const parseTraceId = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' ? TRACEPARENT.exec(header)?.[1] : undefined

/** An element of Forwarded (RFC 7239 §4) without escapes or open quotes, so no Host in it counts as one. */
const ELEMENT = /^(?:\s*[\w-]+=(?:[^\s"\\;=]+|"[^"\\;]*")\s*(?:;|$))+$/

const readFor = (element: string): string =>
  (ELEMENT.test(element) && /(?:^|;)\s*for=([^\s;]+)/i.exec(element)?.[1]) || ''

const includes = (list: BlockList, address: string): boolean =>
  isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')

/** An address in brackets or with its port, quoted or not. */
const NODE = /^"?(?:\[([^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::\w+)?"?$/

/** Returns the address in one spelling, without port and zone, and as IPv4 if it is mapped. */
function plainAddress(node: string): string {
  const [, inBrackets, beforePort] = NODE.exec(node) ?? []
  const address = inBrackets ?? beforePort ?? node
  if (!isIPv6(address)) return address
  return new SocketAddress({ address, family: 'ipv6' }).address.replace(/^::ffff:(?=\d+\.)/, '')
}

/** A secret sent as an id by mistake must not reach a log that way. */
function usableId(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string' || !CALLER_REQUEST_ID.test(header)) return undefined
  return SECRETS.some((pattern) => pattern.test(header)) ? undefined : header
}
