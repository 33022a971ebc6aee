import type { CertificateFacts } from '../guarded-fetch/certificate.ts'
import {
  CONNECT_TIMEOUT_MS,
  FIRST_BYTE_TIMEOUT_MS,
  SEND_TIMEOUT_MS,
  TLS_TIMEOUT_MS,
} from '../guarded-fetch/exchange.ts'
import type { FetchFailure } from '../guarded-fetch/failures.ts'

/** Facts that a sentence may mention. The certificate is of a receiver at an address verified as public. */
export interface AdviceFacts {
  host: string
  certificate: CertificateFacts | null
}

const seconds = (milliseconds: number): string => `${milliseconds / 1_000} seconds`

function expired({ host, certificate }: AdviceFacts): string {
  const at = certificate?.expiresAt
  if (at && at > new Date())
    return `An intermediate certificate of ${host} has expired; install the current chain from its issuer.`
  const date = at?.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
  return `The certificate of ${host} expired${date ? ` on ${date}` : ''}; renew it.`
}

function wrongHost({ host, certificate }: AdviceFacts): string {
  const names = certificate?.names.join(', ')
  return `The certificate is ${names ? `for ${names}, not for ${host}` : `not for ${host}`}; use a URL with a name it covers, or install a certificate for this host.`
}

/**
 * One sentence for each failure to get an answer. Deliberately coarse, so that a test send cannot be used to
 * scan other people's networks.
 */
const ON_FAILURE: Record<FetchFailure, string | ((facts: AdviceFacts) => string)> = {
  url_refused:
    'The saved URL violates a rule that was added after it was saved; save a public HTTPS URL again.',
  name_not_found: ({ host }) => `DNS has no address for ${host}; check the spelling and the DNS records.`,
  name_unanswered: ({ host }) =>
    `DNS did not answer for ${host} in time; check the name servers of its domain, then try again.`,
  address_not_public: ({ host }) =>
    `DNS returned an address for ${host} that is not public, so nothing was sent; every A and AAAA record must point to a publicly reachable address.`,
  unreachable: ({ host }) =>
    `Could not connect to ${host}; check that the receiver is running, listens on this port, and that its firewall allows connections from the internet.`,
  connect_timeout: ({ host }) =>
    `${host} did not accept a connection within ${seconds(CONNECT_TIMEOUT_MS)}; check that the receiver is running and that its firewall allows connections from the internet.`,
  tls_timeout: `The receiver accepted the connection but did not finish the TLS handshake within ${seconds(TLS_TIMEOUT_MS)}; check that this port serves HTTPS.`,
  not_tls: 'This port does not speak TLS; serve HTTPS on it, or save the URL with the port that does.',
  tls_version: 'The receiver offers only outdated versions of TLS; enable TLS 1.2 or 1.3.',
  tls_failed: ({ host }) =>
    `The TLS handshake failed; check that the receiver has a certificate for ${host}, offers current cipher suites, and asks for no client certificate.`,
  client_certificate:
    'The receiver asks for a client certificate, but events are sent without one; make it accept them.',
  certificate_expired: expired,
  certificate_not_yet_valid: ({ host }) =>
    `The certificate of ${host} is not valid yet; install one that is already valid.`,
  certificate_self_signed: ({ host }) =>
    `The certificate of ${host} is self-signed; install one from a public certificate authority.`,
  certificate_unknown_issuer: ({ host }) =>
    `The certificate of ${host} has an unknown issuer; install one from a public certificate authority, with its full chain.`,
  certificate_wrong_host: wrongHost,
  certificate_weak: ({ host }) =>
    `The certificate of ${host}, or one in its chain, uses a key or signature that is too weak; install one with an RSA key of at least 2,048 bits or an elliptic curve key, signed with SHA-256.`,
  certificate_refused: ({ host }) =>
    `The certificate of ${host} is not acceptable; install a current one from a public certificate authority.`,
  send_timeout: `The receiver did not read the event within ${seconds(SEND_TIMEOUT_MS)}; check that it is not overloaded.`,
  no_answer: `The receiver accepted the connection but did not answer within ${seconds(FIRST_BYTE_TIMEOUT_MS)}; answer first and do the work afterwards.`,
  interim_only:
    'The receiver sent interim responses (1xx) but no final one; answer a POST with 200 or 204, without switching protocols.',
  closed: 'The receiver closed the connection before answering; check its log for an error.',
  not_http:
    'The answer does not begin with a status line such as HTTP/1.1 200 OK; check that a web server is behind this port, and that nothing is printed before the status line.',
  second_tls:
    'Behind its TLS, the receiver expects TLS again; make the proxy in front of it forward to a port without TLS, or start TLS itself.',
  http_version: 'The receiver answers in another version of HTTP than 1.1; enable HTTP/1.1.',
  status_invalid:
    'The status line of the answer has no status from 200 to 599; begin the answer with a line such as HTTP/1.1 200 OK.',
  two_lengths:
    'The answer has both Content-Length and Transfer-Encoding; send only one. Often a proxy adds the second.',
  length_sent_twice:
    'The answer has Content-Length twice; send it once. Often the application and a proxy each add one.',
  length_invalid: "The answer's Content-Length is not one whole number; send the size of the body in bytes.",
  line_end_invalid: 'A line of the status or headers does not end in CR LF; end each of them with both.',
  header_folded: 'A header of the answer is continued on the next line; send it in one line.',
  header_name_invalid:
    'A header line of the answer has no valid name before its colon; look for a space in or after the name, a missing colon, or an empty line that is not CR LF.',
  header_value_invalid: 'A header of the answer contains a control character; remove it.',
  http_invalid: 'The answer breaks HTTP/1.1; check the program or proxy that writes it.',
  headers_too_large:
    'The answer has more than 16 KiB or 500 lines of headers; make the receiver send fewer or shorter ones.',
  total_timeout: 'The test was cancelled after 10 seconds; check that the receiver is not overloaded.',
  stopped: 'The test was stopped before the receiver answered; try again.',
}

export function adviceOnFailure(failure: FetchFailure, facts: AdviceFacts): string {
  const advice = ON_FAILURE[failure]
  return typeof advice === 'string' ? advice : advice(facts)
}

/** What the most common statuses mean when you set up a receiver. */
const ON_STATUS: Record<number, string> = {
  400: 'The receiver did not understand the event (400); compare what it expects with the payload that was sent.',
  401: 'The receiver requires authentication (401), but events carry no credentials; make it accept this path without.',
  403: 'The receiver refuses the event (403); check for a firewall, allow-list or bot filter in front of it.',
  404: 'The receiver has nothing at this path (404); check the path of the saved URL.',
  405: 'The receiver does not accept POST at this path (405); check the path and the methods it allows.',
  410: 'The receiver says this path is permanently gone (410); save the URL that replaced it.',
  415: 'The receiver does not accept JSON (415); events are sent as application/json.',
  422: 'The receiver understood the event but rejects its content (422); make it accept the type test_event.',
  429: 'The receiver is rate limiting (429); wait a moment, or raise its limit.',
  500: 'The receiver failed while handling the event (500); check its log.',
  502: 'The proxy in front of the receiver got no valid answer from it (502); check that the application behind it is running.',
  503: 'The receiver is unavailable (503); check that it is running and not overloaded, then try again.',
  504: 'The proxy in front of the receiver timed out (504); answer first and do the work afterwards.',
}

export function adviceOnStatus(status: number): string {
  if (status < 300) return 'The receiver accepted the test event.'
  if (status === 304)
    return 'The receiver answered 304, which is not a valid answer to a POST; answer with 200 or 204.'
  if (status < 400)
    return `The receiver redirects (${status}), and redirects are not followed; save the receiver's final URL.`
  const advice = ON_STATUS[status]
  if (advice) return advice
  return status < 500
    ? `The receiver refused the event (${status}); check its log for the reason.`
    : `The receiver failed while handling the event (${status}); check its log.`
}
