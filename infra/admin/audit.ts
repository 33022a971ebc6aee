import {
  countWithoutLeaf,
  type LoggedEntry,
  listLoggedEntries,
  listUnexplainedErasures,
} from '#shared/accounts/activity.ts'
import {
  countPlaces,
  type LogHead,
  type LogRoot,
  listHeads,
  readNodes,
} from '#shared/accounts/activity-log.ts'
import { GrowingTree, type TreeNode } from '#shared/accounts/activity-tree.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { type EntryCheck, type Fault, judgeEntry, named } from './audit-entry.ts'
import { checkSignatures, type SignatureKeys } from './audit-heads.ts'

const ENTRIES_AT_ONCE = 2_000
/** An entry has the time at which its transaction began, and no transaction lasts this long. */
const LATE_MAX_MS = 3_600_000
const UNKNOWN = Buffer.alloc(32)

/** A head as someone saw it: in a log line or an export. */
export interface SeenHead extends LogRoot {
  at: Date
  /** The file's name. */
  source?: string
}

export interface LogVerdict {
  entries: number
  rootHash: string
  /** Entries whose detail was erased. Their hashes remain. */
  erased: number[]
  heads: number
  faults: Fault[]
}

/**
 * Compares every entry with its hash, every hash with those that were made from it, and the tree with each stored and
 * each seen head. All of it is read from one snapshot.
 */
export function verifyLog(
  db: Database,
  { keys, seen }: { keys: SignatureKeys | undefined; seen: readonly SeenHead[] },
): Promise<LogVerdict> {
  return db.transaction(
    async (snapshot) => {
      const size = await countPlaces(snapshot)
      const stored: LogHead[] = []
      for await (const heads of listHeads(snapshot)) stored.push(...heads)
      const heads = createHeadCheck([...stored, ...seen])
      const entries = createEntriesCheck(heads)
      for (let from = 0; from < size; from += ENTRIES_AT_ONCE) {
        const to = Math.min(from + ENTRIES_AT_ONCE, size)
        entries.take(await readBatch(snapshot, { from, to }), { from, to })
        entries.faults.push(...(await differingNodes(snapshot, entries.completed())))
      }
      const beyond = [
        ...(await listLoggedEntries(snapshot, { from: size, to: Number.MAX_SAFE_INTEGER })),
        ...(await listLoggedEntries(snapshot, { from: Number.MIN_SAFE_INTEGER, to: 0 })),
      ]
      const erasures = await listUnexplainedErasures(snapshot)
      const waiting = await countWithoutLeaf(snapshot)
      const faults = [
        ...entries.ended(),
        ...beyond.map(added),
        ...erasures.map(unexplained),
        ...heads.ended(size),
        ...(await checkSignatures(stored, keys)),
      ]
      if (waiting > 0)
        faults.push({
          kind: 'waiting',
          text: `${waiting} entries of more than a minute ago have no place in the log. Does the API run?`,
        })
      return {
        entries: size,
        rootHash: entries.root(),
        erased: entries.erased,
        heads: stored.length + seen.length,
        faults,
      }
    },
    { isolationLevel: 'repeatable read', readOnly: true },
  )
}

interface Batch {
  entries: Map<number, LoggedEntry>
  leaves: Map<number, Buffer>
}

async function readBatch(db: Queryable, { from, to }: { from: number; to: number }): Promise<Batch> {
  const entries = await listLoggedEntries(db, { from, to })
  const places = Array.from({ length: to - from }, (_, i) => ({ level: 0, position: from + i }))
  return {
    entries: new Map(entries.map((entry) => [entry.leafIndex, entry])),
    leaves: new Map((await readNodes(db, places)).map(({ position, hash }) => [position, hash])),
  }
}

const added = (entry: LoggedEntry): Fault => ({
  kind: 'added',
  ...named(entry),
  text: `${named(entry).text} was put into the log.`,
})

const unexplained = (entry: LoggedEntry): Fault => ({
  kind: 'changed',
  ...named(entry),
  text: `${named(entry).text} lost its detail, but no entry says that an operator erased it.`,
})

/** The tree is rebuilt from the entries' stored hashes, so an entry that does not match its hash is only one fault. */
function createEntriesCheck(heads: ReturnType<typeof createHeadCheck>) {
  const tree = new GrowingTree()
  const faults: Fault[] = []
  const erased: number[] = []
  const moved: { check: EntryCheck; entry: LoggedEntry }[] = []
  const unmatched = new Map<string, number>()
  let nodes: TreeNode[] = []
  let before: LoggedEntry | undefined

  function takeEntry(index: number, { entries, leaves }: Batch): void {
    const entry = entries.get(index)
    const leaf = leaves.get(index)
    nodes.push(...tree.append(leaf ?? UNKNOWN))
    if (!entry) {
      if (leaf) unmatched.set(leaf.toString('hex'), index)
      const after = before ? `, after entry ${before.entryId},` : ''
      faults.push({ kind: 'removed', index, text: `The entry at place ${index}${after} was removed.` })
      return
    }
    const check = judgeEntry(entry)
    if (check.erased) erased.push(entry.entryId)
    if (!leaf) faults.push(added(entry))
    else if (!check.hash.equals(leaf)) {
      moved.push({ check, entry })
      unmatched.set(leaf.toString('hex'), index)
    } else if (check.fault) faults.push(check.fault)
    if (heads.newest().getTime() - Date.parse(entry.at) > LATE_MAX_MS)
      faults.push({
        kind: 'backdated',
        ...named(entry),
        text: `${named(entry).text} was not there at ${heads.newest().toISOString()}, long after its time.`,
      })
    before = entry
  }

  return {
    faults,
    erased,
    root: () => tree.root().toString('base64url'),
    take(batch: Batch, { from, to }: { from: number; to: number }): void {
      if (from === 0) heads.reached(tree)
      for (let index = from; index < to; index += 1) {
        takeEntry(index, batch)
        heads.reached(tree)
      }
    },
    /** Returns the nodes above the entries that the latest batch has completed. */
    completed(): TreeNode[] {
      const upper = nodes.filter(({ level }) => level > 0)
      nodes = []
      return upper
    },
    /** Returns all faults, once it is known where each entry belongs. */
    ended(): Fault[] {
      for (const { check, entry } of moved) {
        const home = unmatched.get(check.hash.toString('hex'))
        const { text } = named(entry)
        if (home === undefined)
          faults.push({ kind: 'changed', ...named(entry), text: `${text} was changed.` })
        else {
          const exchanged = `${text} is at place ${entry.leafIndex}, but was logged at place ${home}.`
          faults.push({ kind: 'exchanged', ...named(entry), text: exchanged })
        }
      }
      return faults.sort((a, b) => (a.index ?? 0) - (b.index ?? 0))
    },
  }
}

/** The stored nodes are what proofs are made from. */
async function differingNodes(db: Queryable, expected: readonly TreeNode[]): Promise<Fault[]> {
  const key = ({ level, position }: TreeNode) => `${level} ${position}`
  const stored = new Map((await readNodes(db, expected)).map((node) => [key(node), node.hash]))
  return expected.flatMap((node) => {
    if (stored.get(key(node))?.equals(node.hash)) return []
    const first = node.position * 2 ** node.level
    const last = first + 2 ** node.level - 1
    const text = `The stored hash of the entries at places ${first} to ${last} is not made from their hashes.`
    return [{ kind: 'tree' as const, index: first, text }]
  })
}

/** Compares the growing tree with the heads, smallest first. */
function createHeadCheck(all: readonly (SeenHead | LogHead)[]) {
  const heads = all.toSorted((a, b) => a.treeSize - b.treeSize || a.at.getTime() - b.at.getTime())
  const faults: Fault[] = []
  let next = 0
  let agreed = 0
  let newest = new Date(0)
  let differing = 0
  const seenIn = (head: SeenHead | LogHead) =>
    `The head of ${head.at.toISOString()}${'source' in head ? `, seen in ${head.source},` : ''}`

  function compare(head: SeenHead | LogHead, root: Buffer): void {
    if (head.rootHash.equals(root)) {
      agreed = head.treeSize
      if (head.at > newest) newest = head.at
      return
    }
    differing += 1
    if (differing > 1) return
    const text = `${seenIn(head)} is of another log: among the entries at places ${agreed} to ${head.treeSize - 1}, hashes were replaced, or the database was restored to before it.`
    faults.push({ kind: 'head', index: agreed, text })
  }

  return {
    /** The time of the newest head that the entries so far agree with. */
    newest: () => newest,
    reached(tree: GrowingTree): void {
      for (let head = heads[next]; head && head.treeSize <= tree.size; head = heads[next]) {
        compare(head, tree.root())
        next += 1
      }
    },
    ended(size: number): Fault[] {
      if (differing > 1) faults.push({ kind: 'head', text: `${differing - 1} later heads differ too.` })
      const largest = heads.at(-1)
      if (largest && largest.treeSize > size)
        faults.push({
          kind: 'cut',
          index: size,
          text: `${seenIn(largest)} is over ${largest.treeSize} entries, but the log ends after ${size}: it was cut, or the database was restored to before it.`,
        })
      return faults
    },
  }
}
