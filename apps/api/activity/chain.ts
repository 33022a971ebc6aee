import { randomBytes } from 'node:crypto'
import { giveLeaves, type Leaf, lockEntriesWithoutLeaf } from '#shared/accounts/activity.ts'
import { hashOfDetail, hashOfEntry } from '#shared/accounts/activity-leaf.ts'
import {
  insertHead,
  insertNodes,
  isRoundDue,
  type LogRoot,
  lockLog,
  readTree,
} from '#shared/accounts/activity-log.ts'
import type { TreeNode } from '#shared/accounts/activity-tree.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { LogSigner } from './log-key.ts'

const ENTRIES_A_ROUND = 1_000
const SALT_BYTES = 16

/**
 * Gives committed entries their places in the log, at most 1,000, and stores the new head. Entries are written without
 * waiting for each other, so their order here is the one in which rounds find them. One process at a time does this.
 * There is no head before the last of many entries, so that the first one covers all that was there before the log.
 * Returns the new head, `more` if entries are left, or undefined if there is nothing to do or another process does it.
 */
export async function extendLog(
  db: Database,
  signer: LogSigner | undefined,
): Promise<LogRoot | 'more' | undefined> {
  if (!(await isRoundDue(db))) return undefined
  return db.transaction(async (transaction) => {
    if (!(await lockLog(transaction))) return undefined
    const entries = await lockEntriesWithoutLeaf(transaction, ENTRIES_A_ROUND)
    const tree = await readTree(transaction)
    const leaves: Leaf[] = []
    const nodes: TreeNode[] = []
    for (const { entryId, detail, ...content } of entries) {
      const salt = randomBytes(SALT_BYTES)
      const detailHash = hashOfDetail(salt, detail)
      leaves.push({ entryId, leafIndex: tree.size, salt, detailHash })
      nodes.push(...tree.append(hashOfEntry({ ...content, entryId: String(entryId), detailHash })))
    }
    await insertNodes(transaction, nodes)
    await giveLeaves(transaction, leaves)
    if (entries.length === ENTRIES_A_ROUND) return 'more'
    const head = { treeSize: tree.size, rootHash: tree.root() }
    await insertHead(transaction, { ...head, signed: (await signer?.signHead(head)) ?? null })
    return head
  })
}
