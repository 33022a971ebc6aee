import { Agent } from 'node:https'
import { isIPv6, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import got, { type Request } from 'got'
import type { AddressRule } from './address-verdict.ts'
import { type CertificateFacts, certificateFacts } from './certificate.ts'
import { type Failure, failureOf, PeerError } from './failures.ts'

export const CONNECT_TIMEOUT_MS = 3_000
export const TLS_TIMEOUT_MS = 3_000
export const SEND_TIMEOUT_MS = 3_000
export const FIRST_BYTE_TIMEOUT_MS = 5_000
/** What is shown of a body is near its start, and the status is in: no reason to make the person wait for more. */
export const BODY_TIMEOUT_MS = 2_000
export const BODY_LIMIT_BYTES = 16 * 1_024
export const HEADERS_LIMIT_BYTES = 16 * 1_024
/** Node counts names and values only: without this, thousands of empty fields would pass. */
const HEADER_FIELDS_LIMIT = 500
const INTERIM_ANSWERS_LIMIT = 16
const ADDRESSES_TRIED = 6
const NEXT_ADDRESS_AFTER_MS = 250

/** Moments in milliseconds of performance.now(); undefined: never reached. */
export interface Moments {
  connecting?: number
  connected?: number
  secured?: number
  firstByte?: number
}

/** How the reading of the body ended. */
export type BodyEnd = 'whole' | 'too_long' | 'too_slow' | 'broken'

export interface ReceiverAnswer {
  status: number
  /** In the order and spelling of the receiver. */
  headers: [name: string, value: string][]
  body: Buffer
  bodyEnd: BodyEnd
}

/** What became of one request: facts only, nothing of it fit to be shown yet. */
export interface Exchange {
  moments: Moments
  /** The address that was connected to. */
  peer: string | null
  certificate: CertificateFacts | null
  tlsVersion: string | null
  answer: ReceiverAnswer | null
  /** Set when there is no answer. */
  failure: Failure | null
}

export interface ExchangeOptions {
  /** A URL that was judged. */
  href: string
  /** Addresses that were judged public: one of them is connected to, and no other. */
  addresses: readonly string[]
  judgeAddress: AddressRule
  /** Certificate authorities in PEM instead of the ones that Node knows. */
  certificateAuthority: string | undefined
  /** The body: JSON. */
  payload: string
  /** Ends the exchange at once. Its reason is a Failure. */
  signal: AbortSignal
}

/**
 * Sends one POST over HTTP/1.1 and TLS ≥ 1.2 and reads the beginning of the answer. Every option that decides where
 * the bytes go or how much comes back is spelled out. Never rejects; its sockets are gone when it resolves.
 */
export function exchange(options: ExchangeOptions): Promise<Exchange> {
  const facts: Exchange = {
    moments: {},
    peer: null,
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
  return new Promise((resolve) => {
    const request = startRequest(options, agent)
    // Destroyed streams may report more than one error; each needs a listener, or it ends the process.
    request.on('error', () => {})
    let settled = false
    const finish = () => {
      if (settled) return
      settled = true
      options.signal.removeEventListener('abort', abort)
      request.destroy()
      // An upgraded socket (101) belongs to nobody any more, so it is ended here as well.
      for (const socket of sockets) socket.destroy()
      agent.destroy()
      resolve(facts)
    }
    const fail = (failure: Failure) => {
      if (!settled && !facts.answer) facts.failure = failure
      finish()
    }
    const abort = () => fail(options.signal.reason as Failure)
    options.signal.addEventListener('abort', abort)
    if (options.signal.aborted) return abort()
    const failWith = (error?: Error) => {
      const { connected, secured } = facts.moments
      fail(failureOf(error, { connected: connected !== undefined, secured: secured !== undefined }))
    }
    request.once('error', failWith)
    request.once('close', () => failWith())
    request.once('upgrade', () => fail('interim_only'))
    limitInterimAnswers(request, () => fail('interim_only'))
    request.once(
      'response',
      (response: { statusCode: number; httpVersion: string; rawHeaders: string[] }) => {
        if (!isHttpStatus(response.statusCode) || !/^1\.[01]$/.test(response.httpVersion))
          return fail('not_http')
        if (response.rawHeaders.length > 2 * HEADER_FIELDS_LIMIT) return fail('headers_too_large')
        facts.answer = {
          status: response.statusCode,
          headers: pairs(response.rawHeaders),
          body: Buffer.alloc(0),
          bodyEnd: 'broken',
        }
        readBody(request, facts.answer, finish)
      },
    )
  })
}

function startRequest({ href, payload, signal }: ExchangeOptions, agent: Agent): Request {
  return got.stream(href, {
    method: 'POST',
    body: payload,
    headers: {
      'content-type': 'application/json',
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
    // Said here too, since got hands its own values to the agent: NODE_TLS_REJECT_UNAUTHORIZED has no say.
    https: { rejectUnauthorized: true, minVersion: 'TLSv1.2', alpnProtocols: ['http/1.1'] },
  })
}

/** Connects to the given addresses, whatever the name means to anyone else; never reuses a connection or session. */
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
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    lookup: (_name, { all }, callback) => {
      // Later, as a real lookup is: got starts its connect timeout at the event that follows.
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
  agent.createConnection = (...given) => {
    const socket = connect(...given)
    onSocket(socket as TLSSocket)
    return socket
  }
  return agent
}

/** Takes the times and the certificate, and ends a connection to anything but a checked address. */
function observe(socket: TLSSocket, facts: Exchange, { addresses, judgeAddress }: ExchangeOptions): void {
  const { moments } = facts
  const checkPeer = () => {
    if (isChecked(socket, addresses, judgeAddress)) return true
    socket.destroy(new PeerError('connected to an address that was not checked'))
    return false
  }
  moments.connecting = performance.now()
  socket.once('connect', () => {
    if (!checkPeer()) return
    moments.connected = performance.now()
    facts.peer = socket.remoteAddress ?? null
  })
  // Emitted before the certificate is verified: a bad one is to be told of, too.
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

function isChecked(socket: Socket, addresses: readonly string[], judgeAddress: AddressRule): boolean {
  const verdict = judgeAddress(socket.remoteAddress ?? '')
  return verdict.public && addresses.includes(verdict.address)
}

/** 1xx answers before the final one (RFC 9110 §15.2) are allowed, an endless row of them is not. */
function limitInterimAnswers(request: Request, onTooMany: () => void): void {
  let count = 0
  request.on('information', () => {
    count += 1
    if (count > INTERIM_ANSWERS_LIMIT) onTooMany()
  })
}

/** Keeps the first 16 KiB; whatever ends the reading, `done` is called, and what was read stands. */
function readBody(request: Request, answer: ReceiverAnswer, done: () => void): void {
  const chunks: Buffer[] = []
  let size = 0
  const end = (bodyEnd: BodyEnd) => {
    clearTimeout(timer)
    if (answer.bodyEnd === 'broken') answer.bodyEnd = bodyEnd
    answer.body = Buffer.concat(chunks).subarray(0, BODY_LIMIT_BYTES)
    done()
  }
  const timer = setTimeout(() => end('too_slow'), BODY_TIMEOUT_MS)
  request.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    if (size > BODY_LIMIT_BYTES) end('too_long')
  })
  request.once('end', () => end('whole'))
  request.once('close', () => end('broken'))
  request.once('error', () => end('broken'))
}

/** RFC 9110 §15: three digits from 100 to 599; 1xx is never final. */
const isHttpStatus = (status: number): boolean => status >= 200 && status <= 599

function pairs(raw: readonly string[]): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] ?? '', raw[2 * at + 1] ?? ''])
}
