import { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'

const NAMES_SHOWN = 3
const HOST_NAME =
  /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const ADDRESS = /^[0-9A-F.:]+$/i

/** The parts of a receiver's certificate that are safe to show: its end, and well-formed host names. */
export interface CertificateFacts {
  expiresAt: Date | null
  /** The hosts it is valid for, at most three. */
  names: string[]
}

/**
 * Returns the certificate that the peer sent, acceptable or not; null if there is none or it is unreadable.
 * Uses getPeerCertificate, because after getPeerX509Certificate Node 24.21 finds no certificate left to
 * verify.
 */
export function certificateFacts(socket: TLSSocket): CertificateFacts | null {
  try {
    const certificate = new X509Certificate(socket.getPeerCertificate().raw)
    const { validToDate } = certificate
    const expiresAt = Number.isNaN(validToDate.getTime()) ? null : validToDate
    return { expiresAt, names: namesOf(certificate) }
  } catch {
    // Verification decides anyway.
    return null
  }
}

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
