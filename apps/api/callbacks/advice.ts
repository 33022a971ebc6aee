import type { CertificateFacts } from './certificate.ts'
import { CONNECT_TIMEOUT_MS, FIRST_BYTE_TIMEOUT_MS, SEND_TIMEOUT_MS, TLS_TIMEOUT_MS } from './exchange.ts'
import type { Failure } from './failures.ts'

/** What a sentence may speak of. Nothing in here comes from a receiver that was not judged public. */
export interface AdviceFacts {
  host: string
  certificate: CertificateFacts | null
}

const seconds = (milliseconds: number): string => `${milliseconds / 1_000} seconds`

const day = (date: Date | null | undefined): string | null =>
  date ? date.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' }) : null

function expired({ host, certificate }: AdviceFacts): string {
  const issuer = day(certificate?.issuerExpiredAt)
  if (issuer) {
    return `A certificate that the one of ${host} is built on expired on ${issuer}; install the current chain of its issuer.`
  }
  const date = day(certificate?.expiresAt)
  return `The certificate of ${host} expired${date ? ` on ${date}` : ''}; renew it on the receiver.`
}

function wrongHost({ host, certificate }: AdviceFacts): string {
  const names = certificate?.names.join(', ')
  return `The certificate is ${names ? `for ${names}, not for ${host}` : `not for ${host}`}; use a URL with a name that it holds, or install one for this host.`
}

function notYetValid({ host, certificate }: AdviceFacts): string {
  const date = day(certificate?.validFrom)
  return `The certificate of ${host} is not valid ${date ? `before ${date}` : 'yet'}; install one that is valid now.`
}

/** One sentence for each way in which no answer came. */
const ON_FAILURE: Record<Failure, string | ((facts: AdviceFacts) => string)> = {
  url_refused:
    'The saved URL breaks a rule that was not there when it was saved; save a public HTTPS URL again.',
  name_not_found: ({ host }) =>
    `DNS knows no address for ${host}; check the spelling and the DNS records of the name.`,
  name_unanswered: ({ host }) =>
    `DNS gave no answer for ${host} in time; check the name servers of its domain, then try again.`,
  address_not_public: ({ host }) =>
    `DNS names an address for ${host} that is not public, so nothing was sent; every A and AAAA record must be reachable from the internet.`,
  unreachable: ({ host }) =>
    `No connection to ${host} could be made; check that the receiver runs, listens on this port and that its firewall lets the internet in.`,
  connect_timeout: ({ host }) =>
    `${host} did not accept a connection within ${seconds(CONNECT_TIMEOUT_MS)}; check that the receiver runs and that its firewall lets the internet in.`,
  tls_timeout: `The receiver accepted the connection but did not finish the TLS handshake within ${seconds(TLS_TIMEOUT_MS)}; check that HTTPS is served on this port.`,
  not_tls:
    'What answered on this port does not speak TLS; serve HTTPS there, or save the URL with the port that does.',
  tls_version:
    'The receiver offers no version of TLS that is still considered safe; enable TLS 1.2 or 1.3 on it.',
  tls_failed: 'The TLS handshake failed; check the TLS settings of the receiver.',
  client_certificate:
    'The receiver asks for a client certificate, which is not sent; let it accept the event without one.',
  certificate_expired: expired,
  certificate_not_yet_valid: notYetValid,
  certificate_self_signed: ({ host }) =>
    `The certificate of ${host} is signed by itself; install one from a public certificate authority.`,
  certificate_unknown_issuer: ({ host }) =>
    `The issuer of the certificate of ${host} is not known here; install one from a public certificate authority, with its whole chain.`,
  certificate_wrong_host: wrongHost,
  certificate_refused: ({ host }) =>
    `The certificate of ${host} cannot be accepted; install a current one from a public certificate authority.`,
  send_timeout: `The receiver did not take the event within ${seconds(SEND_TIMEOUT_MS)}; check that it is not overloaded.`,
  no_answer: `The receiver took the event but sent no answer within ${seconds(FIRST_BYTE_TIMEOUT_MS)}; answer first and do the work afterwards.`,
  interim_only:
    'The receiver sent interim answers (1xx) and no final one; answer a POST with 200 or 204, without switching protocols.',
  closed: 'The receiver closed the connection before it had answered; look into its log for an error.',
  not_http: 'What the receiver answered is not HTTP/1.1; check that a web server is behind this port.',
  headers_too_large:
    'The answer has more than 16 KiB or 500 lines of header fields; make the receiver send fewer or shorter ones.',
  total_timeout:
    'The test took longer than 10 seconds in all and was given up; check that the receiver is not overloaded.',
  stopped: 'The test was stopped before the receiver had answered; try again.',
}

export function adviceOnFailure(failure: Failure, facts: AdviceFacts): string {
  const advice = ON_FAILURE[failure]
  return typeof advice === 'string' ? advice : advice(facts)
}

/** What the most common answers mean for someone who sets up a receiver. */
const ON_STATUS: Record<number, string> = {
  400: 'The receiver did not understand the event (400); compare what it expects with the payload that was sent.',
  401: 'The receiver asks for credentials (401); events carry none, so let it accept this path without.',
  403: 'The receiver refuses the event (403); look for a firewall, an allow-list or a bot filter in front of it.',
  404: 'Nothing is served at this path of the receiver (404); check the path of the saved URL.',
  405: 'The receiver does not accept POST at this path (405); check the path, and that it takes POST.',
  406: 'The receiver cannot answer in a form that is accepted here (406); any form is fine, so look into its settings.',
  408: 'The receiver says that the event came too slowly (408); try again, and look into its log if that stays.',
  410: 'The receiver says that this path is gone for good (410); save the URL that replaced it.',
  411: 'The receiver asks for a length that was sent (411); look for a proxy in front of it that drops it.',
  413: 'The receiver finds the event too large (413), though it is tiny; raise its limit for request bodies.',
  415: 'The receiver does not accept JSON (415); events are sent as application/json.',
  421: 'The server does not serve this host name (421); check the virtual hosts of the receiver.',
  422: 'The receiver understood the event but refuses its content (422); let it accept the type test_event.',
  429: 'The receiver limits how often it is called (429); wait a little, or raise its limit.',
  500: 'The receiver failed while it handled the event (500); look into its log.',
  501: 'The receiver does not know the method POST (501); let it accept POST.',
  502: 'The proxy in front of the receiver got no usable answer from it (502); check that the application behind it runs.',
  503: 'The receiver is not available right now (503); check that it runs and is not overloaded, then try again.',
  504: 'The proxy in front of the receiver waited too long for it (504); answer first and do the work afterwards.',
}

/** @param redirectTo where a 3xx points, when that could be saved instead. */
export function adviceOnStatus(status: number, redirectTo: string | null): string {
  if (status < 300) return 'The receiver accepted the test event.'
  if (status === 304)
    return 'The receiver answered 304, which is no answer to a POST; answer with 200 or 204.'
  if (status < 400) {
    return redirectTo
      ? `The receiver redirects (${status}), and redirects are not followed; if ${redirectTo} is yours, save that URL instead.`
      : `The receiver redirects (${status}), and redirects are not followed; save the final URL of the receiver.`
  }
  const known = ON_STATUS[status]
  if (known) return known
  return status < 500
    ? `The receiver refused the event (${status}); look into its log for the reason.`
    : `The receiver failed while it handled the event (${status}); look into its log.`
}
