import type { LoggedEntry } from '#shared/accounts/activity.ts'
import { hashOfDetail, hashOfEntry } from '#shared/accounts/activity-leaf.ts'
import { saltedHash } from '#shared/accounts/activity-tree.ts'

/** Something that is not as it was logged. `text` is a sentence that names it. */
export interface Fault {
  kind:
    | 'changed'
    | 'removed'
    | 'added'
    | 'exchanged'
    | 'backdated'
    | 'tree'
    | 'head'
    | 'cut'
    | 'signature'
    | 'waiting'
    | 'unreadable'
  /** The place in the log. */
  index?: number
  entryId?: number
  text: string
}

export interface EntryCheck {
  /** What the entry's hash in the log should be. */
  hash: Buffer
  erased: boolean
  /** Set if the detail or the operator is not what the entry's own hashes cover. */
  fault: Fault | undefined
}

/** The operator of an erased entry, where its columns require one. */
const ERASED_OPERATOR = 'erased'

/** An erased entry has lost a salt together with what it salted, so its hash still counts, but covers nothing readable. */
export function judgeEntry(entry: LoggedEntry): EntryCheck {
  const { detail, salt, operator, operatorSalt, operatorHash } = entry
  const hash = hashOfEntry({ ...entry, entryId: String(entry.entryId) })
  const detailMatches = salt
    ? hashOfDetail(salt, detail).equals(entry.detailHash)
    : Object.keys(detail).length === 0
  const operatorMatches =
    operatorHash && operatorSalt
      ? operator !== null && saltedHash(operatorSalt, operator).equals(operatorHash)
      : operator === null || (operatorHash !== null && operator === ERASED_OPERATOR)
  const parts = [...(detailMatches ? [] : ['detail']), ...(operatorMatches ? [] : ['operator'])]
  const { text } = named(entry)
  const fault: Fault | undefined =
    parts.length > 0
      ? { kind: 'changed', ...named(entry), text: `${text} was changed: its ${parts.join(' and its ')}.` }
      : undefined
  return { hash, erased: !salt || (operatorHash !== null && !operatorSalt), fault }
}

export function named({ entryId, leafIndex, action, subject, at }: LoggedEntry) {
  return { index: leafIndex, entryId, text: `Entry ${entryId} (${action} of ${subject}, ${at})` }
}
