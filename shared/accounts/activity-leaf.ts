import { leafHash, saltedHash } from './activity-tree.ts'

/** What the hash of an entry covers. Its detail and its operator are covered by salted hashes, since both may be erased. */
export interface LeafContent {
  /** In decimal. */
  entryId: string
  /** RFC 3339, as the API shows it. */
  at: string
  vendorId: string | null
  userId: string | null
  action: string
  subject: string
  detailHash: Buffer
  /** null: no operator did it. */
  operatorHash: Buffer | null
}

/** RFC 8785, for values read from JSON. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson)}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`)}}`
}

export const hashOfDetail = (salt: Buffer, detail: unknown): Buffer => saltedHash(salt, canonicalJson(detail))

export const base64url = (bytes: Buffer | null): string | null => bytes?.toString('base64url') ?? null

export const hashOfEntry = (entry: LeafContent): Buffer => {
  const { entryId, at, vendorId, userId, action, subject } = entry
  const hashes = { detailHash: base64url(entry.detailHash), operatorHash: base64url(entry.operatorHash) }
  return leafHash(canonicalJson({ entryId, at, vendorId, userId, action, subject, ...hashes }))
}
