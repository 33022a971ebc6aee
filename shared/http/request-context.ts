import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type BlockList, isIP, isIPv6 } from 'node:net'
import { CLIENT_SECRET_PATTERN, INVITATION_TOKEN_PATTERN, SESSION_TOKEN_PATTERN } from '#shared/oauth/ids.ts'
import type { Log } from '#shared/process/log.ts'

const SECRETS = [CLIENT_SECRET_PATTERN, SESSION_TOKEN_PATTERN, INVITATION_TOKEN_PATTERN]
const CALLER_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

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
 * A trusted proxy overwrites X-Request-Id and X-Forwarded-For, and passes the caller's own id on as
 * X-Caller-Request-Id. It may add a traceparent. From anyone else these headers say nothing.
 * Returns a reader of a request's context. It warns once about an untrusted peer that sends X-Forwarded-For:
 * either a proxy that TRUSTED_PROXIES lacks, so that limits see all its callers as one address, or a forgery.
 */
export function createContextReader(trustedProxies: BlockList, log: Log) {
  const message = 'X-Forwarded-For comes from an address that TRUSTED_PROXIES does not name and is ignored'
  let warned = false
  return (request: IncomingMessage): RequestContext => {
    const { headers } = request
    const peer = plainAddress(request.socket.remoteAddress ?? '')
    const trusted = includes(trustedProxies, peer)
    if (!trusted && !warned && headers['x-forwarded-for'] !== undefined) {
      warned = true
      log.warn({ event: 'proxy.untrusted', peer }, message)
    }
    const requestId = usableId(trusted ? headers['x-request-id'] : undefined) ?? randomUUID()
    const callerRequestId = usableId(headers[trusted ? 'x-caller-request-id' : 'x-request-id'])
    const clientAddress = trusted ? forwardedAddress(request, trustedProxies, peer) : peer
    const traceId = trusted ? parseTraceId(headers.traceparent) : undefined
    return { requestId, callerRequestId, clientAddress, traceId }
  }
}

/** version-traceid-parentid-flags (W3C Trace Context §3.2); a version after 00 may have more after them. */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/

const parseTraceId = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' ? TRACEPARENT.exec(header)?.[1] : undefined

/** The nearest address, from the right, that no trusted proxy holds. */
function forwardedAddress(request: IncomingMessage, trustedProxies: BlockList, peer: string): string {
  const header = request.headers['x-forwarded-for']
  if (typeof header !== 'string') return peer
  const hops = header.split(',').map((hop) => plainAddress(hop.trim()))
  for (const hop of hops.reverse()) {
    if (!isIP(hop)) return peer
    if (!includes(trustedProxies, hop)) return hop
  }
  return peer
}

function includes(list: BlockList, address: string): boolean {
  return isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/** A secret sent as an id by mistake must not reach a log that way. */
function usableId(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string' || !CALLER_REQUEST_ID.test(header)) return undefined
  return SECRETS.some((pattern) => pattern.test(header)) ? undefined : header
}
