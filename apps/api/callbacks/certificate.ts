import { X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'

const NAMES_SHOWN = 3
const CHAIN_LIMIT = 10
const HOST_NAME =
  /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const ADDRESS = /^[0-9A-F.:]+$/i

/** What of a receiver's certificate can be shown: dates, and names that can be nothing but names. */
export interface CertificateFacts {
  validFrom: Date | null
  expiresAt: Date | null
  /** The hosts that it is for, at most three. */
  names: string[]
  /** When an issuer of its chain expired, if one has and the certificate itself has not. */
  issuerExpiredAt: Date | null
}

/**
 * The certificate that the peer sent, whether or not it can be accepted; null when there is none that can be read.
 * Read by getPeerCertificate: after getPeerX509Certificate, Node 24.21 finds no certificate left to verify.
 */
export function certificateFacts(socket: TLSSocket): CertificateFacts | null {
  const [certificate, ...issuers] = chainOf(socket.getPeerCertificate(true))
  if (!certificate) return null
  const now = new Date()
  const expiresAt = usable(certificate.validToDate)
  const expired = issuers.map((issuer) => usable(issuer.validToDate)).find((date) => date && date < now)
  return {
    validFrom: usable(certificate.validFromDate),
    expiresAt,
    names: namesOf(certificate),
    issuerExpiredAt: expiresAt && expiresAt < now ? null : (expired ?? null),
  }
}

/** The chain as the peer sent it; a certificate that is its own issuer ends it. */
function chainOf(peer: DetailedPeerCertificate): X509Certificate[] {
  const chain: X509Certificate[] = []
  let current: DetailedPeerCertificate | undefined = peer
  try {
    while (current?.raw && chain.length < CHAIN_LIMIT) {
      chain.push(new X509Certificate(current.raw))
      const issuer: DetailedPeerCertificate | undefined = current.issuerCertificate
      current = issuer === current ? undefined : issuer
    }
  } catch {
    // What cannot be read is not told of; verification has the last word anyway.
  }
  return chain
}

const usable = (date: Date | undefined): Date | null => (date && !Number.isNaN(date.getTime()) ? date : null)

/** Alternative names, or else the common name, as host names are matched (RFC 9525 §6). */
function namesOf(certificate: X509Certificate): string[] {
  const alternatives = (certificate.subjectAltName ?? '').split(', ').flatMap((entry) => {
    const [, kind, name = ''] = /^(DNS|IP Address):(.*)$/.exec(entry) ?? []
    const isName = kind === 'DNS' ? HOST_NAME.test(name) : kind !== undefined && ADDRESS.test(name)
    return isName ? [name] : []
  })
  if (alternatives.length > 0) return alternatives.slice(0, NAMES_SHOWN)
  const [, commonName = ''] = /^CN=(.*)$/m.exec(certificate.subject ?? '') ?? []
  return HOST_NAME.test(commonName) ? [commonName] : []
}
