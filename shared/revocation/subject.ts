/**
 * What a request depends on: its client, and for a bearer token also the token's id (RFC 7519 §4.1.7) and its
 * signing key. For the key set it is a key alone.
 */
export type Subject =
  | { clientId: string; jti?: string | undefined; kid?: string | undefined }
  | { clientId?: undefined; jti?: undefined; kid: string }

/** What can be revoked. */
export interface Entry {
  kind: 'client' | 'token' | 'key'
  id: string
}

/** `revoked` names the client before the key, the key before the token. `undecided` means 503, not access. */
export type Standing = 'live' | 'undecided' | { revoked: Entry['kind'] }

/** Returns everything the subject depends on, in the order of `Standing`. */
export function subjectEntries({ clientId, jti, kid }: Subject): Entry[] {
  const entries: Entry[] = []
  if (clientId !== undefined) entries.push({ kind: 'client', id: clientId })
  if (kid !== undefined) entries.push({ kind: 'key', id: kid })
  if (jti !== undefined) entries.push({ kind: 'token', id: jti })
  return entries
}
