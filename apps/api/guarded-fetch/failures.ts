import { TimeoutError } from 'got'

/**
 * Why no answer came. Deliberately coarse, so that no one can scan other people's networks with our requests.
 */
export type FetchFailure =
  | 'url_refused'
  | 'name_not_found'
  | 'name_unanswered'
  | 'address_not_public'
  | 'unreachable'
  | 'connect_timeout'
  | 'tls_timeout'
  | 'not_tls'
  | 'tls_version'
  | 'tls_failed'
  | 'client_certificate'
  | 'certificate_expired'
  | 'certificate_not_yet_valid'
  | 'certificate_self_signed'
  | 'certificate_unknown_issuer'
  | 'certificate_wrong_host'
  | 'certificate_weak'
  | 'certificate_refused'
  | 'send_timeout'
  | 'no_answer'
  | 'interim_only'
  | 'closed'
  | 'not_http'
  | 'second_tls'
  | 'http_version'
  | 'status_invalid'
  | 'two_lengths'
  | 'length_sent_twice'
  | 'length_invalid'
  | 'line_end_invalid'
  | 'header_folded'
  | 'header_name_invalid'
  | 'header_value_invalid'
  | 'http_invalid'
  | 'headers_too_large'
  | 'total_timeout'
  | 'stopped'

/** Our name for errors of which Node only says UNSPECIFIED. */
const TOO_WEAK = 'CERT_TOO_WEAK'
/** OpenSSL's verification errors by Node's names for them. */
const CERTIFICATE_ERRORS: Record<string, FetchFailure> = {
  CERT_HAS_EXPIRED: 'certificate_expired',
  CERT_NOT_YET_VALID: 'certificate_not_yet_valid',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate_self_signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate_unknown_issuer',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate_unknown_issuer',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate_unknown_issuer',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate_unknown_issuer',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate_wrong_host',
  HOSTNAME_MISMATCH: 'certificate_wrong_host',
  [TOO_WEAK]: 'certificate_weak',
}
const OTHER_CERTIFICATE_ERROR =
  /^(?:CERT_|CRL_|ERR_TLS_CERT|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|CA_|EE_|ERROR_IN_CERT|UNABLE_TO_DECRYPT_CERT|UNSPECIFIED$|ERR_SSL_(?:EE|CA)_)/
const NOT_TLS =
  /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|RECORD_LAYER|BAD_RECORD|INVALID_RECORD/
const TLS_VERSION =
  /UNSUPPORTED_PROTOCOL|PROTOCOL_VERSION|VERSION_TOO_LOW|LEGACY_SIGALG|INSUFFICIENT_SECURITY/
const HTTP_2_ONLY = /NO_APPLICATION_PROTOCOL/
const CLIENT_CERTIFICATE =
  /CERTIFICATE_REQUIRED|TLSV1_ALERT_UNKNOWN_CA|ALERT_BAD_CERTIFICATE|ALERT_NO_CERTIFICATE/

/** What llhttp says of an answer whose head breaks HTTP/1.1. The first expression that matches decides. */
const HTTP_FAULTS: readonly (readonly [RegExp, FetchFailure])[] = [
  [/can't be present with/, 'two_lengths'],
  [/Duplicate Content-Length/, 'length_sent_twice'],
  [/Content-Length/, 'length_invalid'],
  [/whitespace after header value|space after start line/, 'header_folded'],
  [/expected (?:CR|LF)|Expected LF/, 'line_end_invalid'],
  [/header value char/, 'header_value_invalid'],
  [/header (?:token|field)/, 'header_name_invalid'],
  [/response status|status code/, 'status_invalid'],
  [/version|Expected dot/, 'http_version'],
  [/Expected HTTP/, 'not_http'],
]
/** A TLS record that holds an alert (RFC 8446 §5.1), as a server sends it that expected a handshake. */
const TLS_ALERT = Buffer.from([0x15, 0x03])

/** By got's names for the phases of a request. */
const TIMEOUTS: Record<string, FetchFailure> = {
  connect: 'connect_timeout',
  secureConnect: 'tls_timeout',
  send: 'send_timeout',
}

/** The connection reached an address that was not verified. */
export class PeerError extends Error {}

/** Names the failure of an exchange by how far it got. `error` is undefined if the connection just closed. */
export function classifyFailure(
  error: Error | undefined,
  { connected, secured }: { connected: boolean; secured: boolean },
): FetchFailure {
  if (error?.cause instanceof PeerError || error instanceof PeerError) return 'address_not_public'
  if (error instanceof TimeoutError) return TIMEOUTS[error.event] ?? 'no_answer'
  const code = errorCode(error)
  if (!connected) return code === 'ETIMEDOUT' ? 'connect_timeout' : 'unreachable'
  const fromTls = tlsFailureOf(code)
  if (!secured) return fromTls ?? (code === 'ECONNRESET' ? 'closed' : 'tls_failed')
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large'
  if (code === 'HPE_INVALID_EOF_STATE') return 'closed'
  if (breaksHttp(error)) return httpFailureOf(error)
  return fromTls ?? 'closed'
}

type ParseError = Error & { code: string; rawPacket?: Buffer }

/** Whether Node's parser refused what the receiver sent. */
export const breaksHttp = (error: Error | undefined): error is ParseError =>
  String((error as NodeJS.ErrnoException | undefined)?.code).startsWith('HPE_')

function httpFailureOf({ message, cause }: ParseError): FetchFailure {
  const failure = HTTP_FAULTS.find(([words]) => words.test(message))?.[1] ?? 'http_invalid'
  const start = (cause as ParseError | undefined)?.rawPacket?.subarray(0, TLS_ALERT.length)
  return failure === 'not_http' && start?.equals(TLS_ALERT) ? 'second_tls' : failure
}

/**
 * Returns Node's code for an error. For a weak key or signature, only the message is specific. If a write was
 * waiting for a handshake that failed, the code is only EPROTO, and the message has OpenSSL's reason:
 * `…:SSL routines:function:reason:…`.
 */
function errorCode(error: Error | undefined): string {
  const code = String((error as NodeJS.ErrnoException | undefined)?.code ?? '')
  if (code === 'UNSPECIFIED' && /too weak/.test(error?.message ?? '')) return TOO_WEAK
  const [, reason] =
    code === 'EPROTO' ? (/:SSL routines:[^:]*:([^:]+):/.exec(error?.message ?? '') ?? []) : []
  return reason ? `ERR_SSL_${reason.toUpperCase().replaceAll(' ', '_')}` : code
}

function tlsFailureOf(code: string): FetchFailure | undefined {
  const failure = CERTIFICATE_ERRORS[code]
  if (failure) return failure
  if (OTHER_CERTIFICATE_ERROR.test(code)) return 'certificate_refused'
  if (HTTP_2_ONLY.test(code)) return 'http_version'
  if (CLIENT_CERTIFICATE.test(code)) return 'client_certificate'
  if (NOT_TLS.test(code)) return 'not_tls'
  if (TLS_VERSION.test(code)) return 'tls_version'
  return code.startsWith('ERR_SSL_') || code === 'EPROTO' ? 'tls_failed' : undefined
}
