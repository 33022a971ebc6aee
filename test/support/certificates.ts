import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterwards } from './block.ts'

/*
 * X.509 certificates (RFC 5280) for TLS servers of tests, written as DER by hand: the few fields that a TLS
 * client looks at, by default ECDSA with P-256 and SHA-256.
 */

interface CertificateOptions {
  commonName: string
  /** DNS names and IPv4 addresses of the subject alternative name; IPv4 addresses also as IPv6. */
  names?: readonly string[]
  validFrom?: Date
  validTo?: Date
  /** Signed by this one; by itself when there is none. */
  issuer?: { key: KeyObject; commonName: string }
  isAuthority?: boolean
  /** Of the certificate itself; P-256 when there is none. */
  keys?: { publicKey: KeyObject; privateKey: KeyObject }
  hash?: keyof typeof ECDSA_WITH
  /** With a critical extension that no client knows. */
  isUnknown?: boolean
}

const DAY_MS = 86_400_000

export function createCertificate(options: CertificateOptions) {
  const { commonName, names = [], issuer, isAuthority = false, hash = 'sha256', isUnknown = false } = options
  const { validFrom = new Date(Date.now() - DAY_MS), validTo = new Date(Date.now() + 30 * DAY_MS) } = options
  const { publicKey, privateKey } = options.keys ?? generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const extensions = [
    extension(BASIC_CONSTRAINTS, sequence(isAuthority ? [BOOLEAN_TRUE] : []), true),
    names.length > 0 && extension(SUBJECT_ALTERNATIVE_NAME, sequence(names.flatMap(alternativeNames))),
    isUnknown && extension(identifier('2a0304'), sequence([]), true),
  ].filter((part) => part !== false)
  const toBeSigned = sequence([
    element(0xa0, integer(Buffer.from([2]))),
    serialNumber(),
    ECDSA_WITH[hash],
    encodeName(issuer?.commonName ?? commonName),
    sequence([time(validFrom), time(validTo)]),
    encodeName(commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(extensions)),
  ])
  const signature = sign(hash, toBeSigned, issuer?.key ?? privateKey)
  const bits = element(0x03, Buffer.concat([Buffer.from([0]), signature]))
  const der = sequence([toBeSigned, ECDSA_WITH[hash], bits])
  const base64 = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')
  return {
    pem: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey,
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    commonName,
  }
}

/** This process trusts the authority, in addition to its own, until the result is disposed of. */
export function trustAuthority({ pem }: { pem: string }): AsyncDisposable {
  const authorities = getCACertificates('default')
  setDefaultCACertificates([...authorities, pem])
  return afterwards(() => setDefaultCACertificates(authorities))
}

/** Returns Redis' settings for TLS as `localhost`. This process trusts the authority until disposed of. */
export async function createRedisTls(folder: string) {
  const authority = createCertificate({ commonName: 'authority', isAuthority: true })
  const server = createCertificate({ commonName: 'redis', names: ['localhost'], issuer: authority })
  const files = { 'ca-cert': authority.pem, cert: server.pem, key: server.keyPem }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `${name}.pem`), text)
  const trust = trustAuthority(authority)
  const lines = Object.keys(files).map((name) => `tls-${name}-file ${join(folder, name)}.pem`)
  return { lines: [...lines, 'tls-auth-clients no'], [Symbol.asyncDispose]: trust[Symbol.asyncDispose] }
}

/** X.690 §8.1: tag, length, content. */
function element(tag: number, content: Buffer): Buffer {
  const { length } = content
  const bytes = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...bytes]), content])
}

const sequence = (parts: readonly Buffer[]): Buffer => element(0x30, Buffer.concat(parts))
const BOOLEAN_TRUE = element(0x01, Buffer.from([0xff]))

/** Object identifiers, as X.690 §8.19 packs their numbers. */
const identifier = (packed: string): Buffer => element(0x06, Buffer.from(packed, 'hex'))
const COMMON_NAME = identifier('550403')
const SUBJECT_ALTERNATIVE_NAME = identifier('551d11')
const BASIC_CONSTRAINTS = identifier('551d13')
const ECDSA_WITH = {
  sha256: sequence([identifier('2a8648ce3d040302')]),
  sha1: sequence([identifier('2a8648ce3d0401')]),
}

const integer = (bytes: Buffer): Buffer => element(0x02, bytes)

/** 128 bits, of which the first two make it positive and of full length. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes.writeUInt8((bytes.readUInt8() & 0x3f) | 0x40)
  return integer(bytes)
}

const encodeName = (commonName: string): Buffer =>
  sequence([element(0x31, sequence([COMMON_NAME, element(0x0c, Buffer.from(commonName))]))])

const extension = (id: Buffer, value: Buffer, critical = false): Buffer =>
  sequence([id, ...(critical ? [BOOLEAN_TRUE] : []), element(0x04, value)])

function alternativeNames(name: string): Buffer[] {
  if (!isIPv4(name)) return [element(0x82, Buffer.from(name))]
  const bytes = Buffer.from(name.split('.').map(Number))
  const mapped = Buffer.concat([Buffer.alloc(10), Buffer.from('ffff', 'hex'), bytes])
  return [element(0x87, bytes), element(0x87, mapped)]
}

/** RFC 5280 §4.1.2.5: UTCTime through 2049. */
const time = (date: Date): Buffer =>
  element(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`))
