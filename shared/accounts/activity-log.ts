import type { Queryable } from '#shared/stores/postgres.ts'
import { auditPath, GrowingTree, type Place, proofOf, type TreeNode } from './activity-tree.ts'

/** The root of the tree over the first `treeSize` entries. */
export interface LogRoot {
  treeSize: number
  rootHash: Buffer
}

/** What the log was at a moment. */
export interface LogHead extends LogRoot {
  at: Date
  /** A JWS; null where there was no key to sign with. */
  signed: string | null
}

/** A head is signed at least this often, so that its age tells whether the log still grows. */
const HEAD_EVERY = `interval '1 hour'`

const TREE_SIZE = 'select coalesce(max(position) + 1, 0) as size from activity_tree where level = 0'

/**
 * Whether an entry waits for its place in the log, or the newest head lacks one or is an hour old. Asked each second:
 * the order keeps Postgres to the index of those that wait while it believes that all do, as after an upgrade.
 */
export async function isRoundDue(db: Queryable): Promise<boolean> {
  const { rows } = await db.raw(
    `select (select entry_id from activity where leaf_index is null order by entry_id limit 1) is not null
       or not exists (select from activity_heads where at > now() - ${HEAD_EVERY}
                      and head_id = (select max(head_id) from activity_heads)
                      and tree_size = (${TREE_SIZE})) as due`,
  )
  return rows[0].due
}

/** Whether this transaction is now the only one that may extend the log. */
export async function lockLog(transaction: Queryable): Promise<boolean> {
  const { rows } = await transaction.raw(
    `select pg_try_advisory_xact_lock(hashtext('activity log')) as locked`,
  )
  return rows[0].locked
}

/** The tree as far as it has been stored, which may be further than the entries if some were removed. */
export async function readTree(db: Queryable): Promise<GrowingTree> {
  const size = await readTreeSize(db)
  return GrowingTree.from(size, await readNodes(db, GrowingTree.edgeOf(size)))
}

async function readTreeSize(db: Queryable): Promise<number> {
  const { rows } = await db.raw(TREE_SIZE)
  return rows[0].size
}

/** The number of places in the tree, by how many hashes there are: one that was planted far off must not count. */
export async function countPlaces(db: Queryable): Promise<number> {
  const { rows } = await db.raw(
    `select least(count(*) + 10000, coalesce(max(position) + 1, 0)) as places from activity_tree where level = 0`,
  )
  return rows[0].places
}

const columnsOf = (places: readonly Place[]) => [
  places.map(({ level }) => level),
  places.map(({ position }) => position),
]

/** Those of the nodes that there are, in no order. */
export async function readNodes(db: Queryable, places: readonly Place[]): Promise<TreeNode[]> {
  const { rows } = await db.raw(
    `select level, position, hash from activity_tree
     join unnest(?::smallint[], ?::bigint[]) as wanted (level, position) using (level, position)`,
    columnsOf(places) as never,
  )
  return rows
}

export async function insertNodes(transaction: Queryable, nodes: readonly TreeNode[]): Promise<void> {
  await transaction.raw(
    `insert into activity_tree (level, position, hash)
     select * from unnest(?::smallint[], ?::bigint[], ?::bytea[])`,
    [...columnsOf(nodes), nodes.map(({ hash }) => hash)] as never,
  )
}

const HEAD = 'tree_size as "treeSize", root_hash as "rootHash", at, signed'

export async function insertHead(
  transaction: Queryable,
  { treeSize, rootHash, signed }: Omit<LogHead, 'at'>,
): Promise<void> {
  await transaction.raw('insert into activity_heads (tree_size, root_hash, signed) values (?, ?, ?)', [
    treeSize,
    rootHash,
    signed,
  ])
}

export async function newestHead(db: Queryable): Promise<LogHead | undefined> {
  const { rows } = await db.raw(`select ${HEAD} from activity_heads order by head_id desc limit 1`)
  return rows[0]
}

/** Every head, oldest first, some thousand at a time. */
export async function* listHeads(db: Queryable): AsyncGenerator<LogHead[]> {
  for (let after = 0; ; ) {
    const { rows } = await db.raw(
      `select head_id as "headId", ${HEAD} from activity_heads where head_id > ? order by head_id limit 5000`,
      [after],
    )
    if (rows.length === 0) return
    yield rows
    after = rows.at(-1).headId
  }
}

/** Returns the inclusion proof of each of these entries of a tree of `size`. @throws Error if a hash is missing. */
export async function readProofs(
  db: Queryable,
  indexes: readonly number[],
  size: number,
): Promise<Map<number, Buffer[]>> {
  const key = ({ level, position }: Place) => `${level} ${position}`
  const wanted = new Map(
    indexes.flatMap((index) =>
      auditPath(index, size)
        .flat()
        .map((place) => [key(place), place] as const),
    ),
  )
  const nodes = await readNodes(db, [...wanted.values()])
  const hashes = new Map(nodes.map((node) => [key(node), node.hash]))
  const hashAt = (place: Place): Buffer => {
    const hash = hashes.get(key(place))
    if (hash) return hash
    throw new Error(`the log lacks its hash ${key(place)}`)
  }
  return new Map(indexes.map((index) => [index, proofOf(index, size, hashAt)]))
}
