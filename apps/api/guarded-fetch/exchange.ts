import { Agent } from 'node:https'
import { isIP, isIPv6, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import got, { type Request } from 'got'
import type { AddressReason, AddressRule } from './address-verdict.ts'
import { type CertificateFacts, certificateFacts } from './certificate.ts'
import { breaksHttp, classifyFailure, type FetchFailure, PeerError } from './failures.ts'

export const CONNECT_TIMEOUT_MS = 3_000
export const TLS_TIMEOUT_MS = 3_000
export const SEND_TIMEOUT_MS = 3_000
export const FIRST_BYTE_TIMEOUT_MS = 5_000
/** The status has arrived, and a body is short or only its start is of interest. */
export const BODY_TIMEOUT_MS = 2_000
const HEADERS_LIMIT_BYTES = 16 * 1_024
/** Node counts only names and values, so without this limit thousands of empty headers would pass. */
const HEADER_FIELDS_LIMIT = 500
const INTERIM_ANSWERS_LIMIT = 16
const ADDRESSES_TRIED = 6

/** Times in milliseconds of performance.now(); undefined if never reached. */
export interface Moments {
  connecting?: number
  connected?: number
  secured?: number
  firstByte?: number
}

/** How reading the body ended. */
export type BodyEnd = 'whole' | 'too_long' | 'too_slow' | 'malformed' | 'broken'

/** `not_checked`: public, but not one of the addresses checked before. */
export type PeerRefusal = AddressReason | 'not_checked'

export interface ReceiverAnswer {
  status: number
  /** In the receiver's order and spelling. */
  headers: [name: string, value: string][]
  body: Buffer
  bodyEnd: BodyEnd
}

/** The raw facts of one request, not yet safe to show. */
export interface Exchange {
  moments: Moments
  /** The connected address. */
  peer: string | null
  /** Why the connection to a different address was cut. */
  peerRefused: PeerRefusal | null
  certificate: CertificateFacts | null
  tlsVersion: string | null
  answer: ReceiverAnswer | null
  /** Set when there is no answer. */
  failure: FetchFailure | null
}

export interface ExchangeOptions {
  /** The `href` of a PublicUrl. */
  href: string
  /** Addresses verified as public. No other is ever connected to. */
  addresses: readonly string[]
  checkAddress: AddressRule
  /** Certificate authorities in PEM that replace Node's own. */
  certificateAuthority: string | undefined
  /** The JSON to POST. undefined: a GET. */
  payload?: string | undefined
  /** How much of the body is kept. */
  bodyLimit_bytes: number
  /** Ends the exchange at once. Its reason is a FetchFailure. */
  signal: AbortSignal
}

/**
 * Sends one request over HTTP/1.1 and TLS ≥ 1.2 and reads the beginning of the answer. Every option that
 * affects where the bytes go or how much comes back is explicit. Never rejects. Its sockets are destroyed
 * when it resolves.
 */
export async function exchange(options: ExchangeOptions): Promise<Exchange> {
  const facts: Exchange = {
    moments: {},
    peer: null,
    peerRefused: null,
    certificate: null,
    tlsVersion: null,
    answer: null,
    failure: null,
  }
  const sockets: TLSSocket[] = []
  const agent = createPinnedAgent(options, (socket) => {
    sockets.push(socket)
    observe(socket, facts, options)
  })
  const request = startRequest(options, agent)
  // Destroyed streams may emit several errors. Without a listener, one would end the process.
  request.on('error', () => {})
  await waitForAnswer(request, facts, options)
  request.destroy()
  // Nothing else owns an upgraded socket (101), so it is destroyed here.
  for (const socket of sockets) socket.destroy()
  agent.destroy()
  return facts
}

/** Waits until an answer's body has been read, or for a failure, and records either in `facts`. */
function waitForAnswer(request: Request, facts: Exchange, options: ExchangeOptions): Promise<void> {
  const { signal } = options
  return new Promise((resolve) => {
    const fail = (failure: FetchFailure) => {
      if (!facts.answer) facts.failure ??= failure
      resolve()
    }
    const failWith = (error?: Error) => {
      if (facts.answer) return
      const { connected, secured } = facts.moments
      fail(classifyFailure(error, { connected: connected !== undefined, secured: secured !== undefined }))
    }
    onAbort(signal, () => !facts.answer && fail(signal.reason as FetchFailure))
    request.once('error', failWith)
    request.once('close', () => failWith())
    request.once('upgrade', () => fail('interim_only'))
    limitInterimAnswers(request, () => fail('interim_only'))
    request.once('response', (head: AnswerHead) => {
      const failure = headFailure(head)
      if (failure) return fail(failure)
      const { statusCode: status, rawHeaders } = head
      facts.answer = { status, headers: pairs(rawHeaders), body: Buffer.alloc(0), bodyEnd: 'broken' }
      resolve(readBody(request, facts.answer, options))
    })
  })
}

interface AnswerHead {
  statusCode: number
  httpVersion: string
  rawHeaders: string[]
}

/** Refuses oversized answers, and those that Node's parser accepts although HTTP forbids them. */
function headFailure({ statusCode, httpVersion, rawHeaders }: AnswerHead): FetchFailure | undefined {
  if (!/^1\.[01]$/.test(httpVersion)) return 'http_version'
  // RFC 9110 §15: three digits from 100 to 599, of which 1xx is never final
  if (statusCode >= 100 && statusCode < 200) return 'interim_only'
  if (statusCode < 200 || statusCode > 599) return 'status_invalid'
  return rawHeaders.length > 2 * HEADER_FIELDS_LIMIT ? 'headers_too_large' : undefined
}

function onAbort(signal: AbortSignal, listener: () => void): void {
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener, { once: true })
}

function startRequest({ href, payload, signal }: ExchangeOptions, agent: Agent): Request {
  return got.stream(href, {
    ...(payload === undefined ? { method: 'GET' } : { method: 'POST', body: payload }),
    headers: {
      ...(payload === undefined ? { accept: 'application/json' } : { 'content-type': 'application/json' }),
      'accept-encoding': 'identity',
      'user-agent': 'integration-access-service',
    },
    agent: { https: agent },
    signal,
    followRedirect: false,
    throwHttpErrors: false,
    decompress: false,
    http2: false,
    cache: false,
    dnsCache: false,
    enableUnixSockets: false,
    retry: { limit: 0 },
    maxHeaderSize: HEADERS_LIMIT_BYTES,
    timeout: {
      connect: CONNECT_TIMEOUT_MS,
      secureConnect: TLS_TIMEOUT_MS,
      send: SEND_TIMEOUT_MS,
      response: FIRST_BYTE_TIMEOUT_MS,
    },
    // Repeated because got passes its own values to the agent. NODE_TLS_REJECT_UNAUTHORIZED has no effect.
    https: { rejectUnauthorized: true, minVersion: 'TLSv1.2', alpnProtocols: ['http/1.1'] },
  })
}

/** Connects only to the given addresses, whatever DNS says. Never reuses a connection or session. */
function createPinnedAgent(
  { addresses, certificateAuthority }: ExchangeOptions,
  onSocket: (socket: TLSSocket) => void,
): Agent {
  const pinned = addresses
    .slice(0, ADDRESSES_TRIED)
    .map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  const agent = new Agent({
    keepAlive: false,
    maxCachedSessions: 0,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    autoSelectFamily: true,
    // Node ends an attempt before it begins the next, so all share the time to connect equally.
    autoSelectFamilyAttemptTimeout: Math.floor(CONNECT_TIMEOUT_MS / Math.max(1, pinned.length)),
    lookup: (_name, { all }, callback) => {
      // Asynchronous like a real lookup, because got starts its connect timeout at the event that follows.
      process.nextTick(() => {
        const [first] = pinned
        if (!first) callback(new Error('there is no address to connect to'), '', 4)
        else if (all) callback(null, pinned)
        else callback(null, first.address, first.family)
      })
    },
    ...(certificateAuthority !== undefined && { ca: certificateAuthority }),
  })
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (options, callback) => {
    // Node connects to an IP literal without a lookup, so the literal is replaced by the verified address.
    const host = isIP(options.host ?? '') ? (addresses[0] ?? '') : options.host
    const socket = connect({ ...options, host }, callback)
    onSocket(socket as TLSSocket)
    return socket
  }
  return agent
}

/** Records times and the certificate, and cuts a connection to any address that was not checked. */
function observe(socket: TLSSocket, facts: Exchange, { addresses, checkAddress }: ExchangeOptions): void {
  const { moments } = facts
  const checkPeer = () => {
    facts.peerRefused = peerRefusal(socket, addresses, checkAddress)
    if (facts.peerRefused === null) return true
    socket.destroy(new PeerError('connected to an address that was not checked'))
    return false
  }
  moments.connecting = performance.now()
  socket.once('connect', () => {
    if (!checkPeer()) return
    moments.connected = performance.now()
    facts.peer = socket.remoteAddress ?? null
  })
  // Emitted before the certificate is verified, so that bad ones can be reported too.
  socket.prependOnceListener('secure', () => {
    facts.certificate = certificateFacts(socket)
    facts.tlsVersion = socket.getProtocol()
  })
  socket.once('secureConnect', () => {
    if (!checkPeer()) return
    moments.secured = performance.now()
    socket.once('data', () => {
      moments.firstByte = performance.now()
    })
  })
}

function peerRefusal(
  socket: Socket,
  addresses: readonly string[],
  checkAddress: AddressRule,
): PeerRefusal | null {
  const verdict = checkAddress(socket.remoteAddress ?? '')
  if (!verdict.public) return verdict.reason
  return addresses.includes(verdict.address) ? null : 'not_checked'
}

/** Allows 1xx responses before the final one (RFC 9110 §15.2), but not an endless series of them. */
function limitInterimAnswers(request: Request, onTooMany: () => void): void {
  let count = 0
  request.on('information', () => {
    count += 1
    if (count > INTERIM_ANSWERS_LIMIT) onTooMany()
  })
}

/** Keeps the start of the body, however reading ends. */
function readBody(
  request: Request,
  answer: ReceiverAnswer,
  { bodyLimit_bytes, signal }: ExchangeOptions,
): Promise<void> {
  const chunks: Buffer[] = []
  let size = 0
  return new Promise((resolve) => {
    let ended = false
    const end = (bodyEnd: BodyEnd) => {
      if (ended) return
      ended = true
      clearTimeout(timer)
      answer.bodyEnd = bodyEnd
      answer.body = Buffer.concat(chunks).subarray(0, bodyLimit_bytes)
      resolve()
    }
    const timer = setTimeout(() => end('too_slow'), BODY_TIMEOUT_MS)
    onAbort(signal, () => end('too_slow'))
    request.on('data', (chunk: Buffer) => {
      if (ended) return
      chunks.push(chunk)
      size += chunk.length
      if (size > bodyLimit_bytes) end('too_long')
    })
    request.once('end', () => end('whole'))
    request.once('error', (error: Error) => end(breaksHttp(error) ? 'malformed' : 'broken'))
    request.once('close', () => end('broken'))
  })
}

function pairs(raw: readonly string[]): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] ?? '', raw[2 * at + 1] ?? ''])
}
