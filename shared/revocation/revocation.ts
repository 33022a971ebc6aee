import type { Knex } from 'knex'

/** Who or what a request stands on: its client, and for a bearer token also the token's id and its signing key. */
export interface Subject {
  clientId: string
  jti?: string
  kid?: string
}

/** `undecided`: neither store could tell within its deadline; the caller answers 503, never access. */
export type Standing = 'live' | 'revoked' | 'undecided'

export type Entry = { kind: 'client' | 'token' | 'key'; id: string }

export interface Revocation {
  /** Never rejects. */
  ask(subject: Subject): Promise<Standing>
  /**
   * Runs `commit` in one Postgres transaction, which must leave the entry revoked there (now or already), and
   * resolves with its result when no process can accept the entry any more. That can take 6 s when Redis cannot
   * vouch for it. Rejects, with nothing changed, when `commit` rejects.
   */
  revoke<T>(entry: Entry, commit: (transaction: Knex.Transaction) => Promise<T>): Promise<T>
  /** How `ask` has decided since the start of the process. */
  counts(): { redis: number; postgres: number; neither: number }
}
