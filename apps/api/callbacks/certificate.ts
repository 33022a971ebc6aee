import { X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'

const NAMES_SHOWN = 3
const CHAIN_LIMIT = 10
const HOST_NAME =
  /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const ADDRESS = /^[0-9A-F.:]+$/i

/** The parts of a receiver's certificate that are safe to show: dates, and well-formed host names. */
export interface CertificateFacts {
  validFrom: Date | null
  expiresAt: Date | null
  /** The hosts it is valid for, at most three. */
  names: string[]
  /** When an issuer in its chain expired, unless the certificate itself has expired. */
  issuerExpiredAt: Date | null
}

/**
 * Returns the certificate that the peer sent, acceptable or not; null if there is none or it is unreadable. Uses
 * getPeerCertificate, because after getPeerX509Certificate Node 24.21 finds no certificate left to verify.
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

/** The chain as the peer sent it, up to a self-signed certificate. */
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
    // Unreadable parts are not reported. Verification decides anyway.
  }
  return chain
}

const usable = (date: Date | undefined): Date | null => (date && !Number.isNaN(date.getTime()) ? date : null)

/** The subject alternative names, or else the common name. */
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
