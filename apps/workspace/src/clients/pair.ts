import type { OAuthClient } from '../api/contract.ts'

export interface Pair {
  /** What the client is in its rotation. */
  role: 'old' | 'replacement'
  other: OAuthClient
}

/** The rotation that a client is in: as long as it and the other one are both Active. */
export function rotationPair(
  client: OAuthClient,
  find: (clientId: string) => OAuthClient | undefined,
): Pair | undefined {
  if (client.status === 'Revoked') return undefined
  const active = (clientId: string | null) => {
    const match = clientId === null ? undefined : find(clientId)
    return match?.status === 'Active' ? match : undefined
  }
  const successor = active(client.replacedBy)
  if (successor) return { role: 'old', other: successor }
  const predecessor = active(client.replaces)
  return predecessor && { role: 'replacement', other: predecessor }
}
