import { createHash } from 'node:crypto'

/** A complete subtree: the hashes of 2^level entries, the first of which is number position * 2^level. */
export interface Place {
  level: number
  position: number
}

export interface TreeNode extends Place {
  hash: Buffer
}

const sha256 = (...parts: (Buffer | string)[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

const LEAF = Buffer.from([0])
const NODE = Buffer.from([1])

/** RFC 6962 §2.1. */
export const leafHash = (content: string): Buffer => sha256(LEAF, content)

export const nodeHash = (left: Buffer, right: Buffer): Buffer => sha256(NODE, left, right)

/** The hash by which an entry is bound to text that may be erased later. */
export const saltedHash = (salt: Buffer, text: string): Buffer => sha256(salt, text)

/** The complete subtrees of the entries from `start` to `end`, exclusive, from left to right. */
function placesOf(start: number, end: number): Place[] {
  const places: Place[] = []
  for (let at = start; at < end; ) {
    const level = Math.floor(Math.log2(end - at))
    places.push({ level, position: at / 2 ** level })
    at += 2 ** level
  }
  return places
}

/** Returns the hash of subtrees from left to right, which together are a tree. Undefined for none. */
const joined = (hashes: readonly Buffer[]): Buffer | undefined =>
  hashes.length === 0 ? undefined : hashes.reduceRight((right, left) => nodeHash(left, right))

/** A tree that only grows, of which only the hashes at its edge are kept. */
export class GrowingTree {
  size = 0
  /** By level; those of levels that `size` has no bit for are outdated. */
  #edge: Buffer[] = []

  /** The subtrees that a tree of this size is continued from. */
  static edgeOf = (size: number): Place[] => placesOf(0, size)

  /** @param edge The nodes of `edgeOf(size)`. */
  static from(size: number, edge: readonly TreeNode[]): GrowingTree {
    const tree = new GrowingTree()
    tree.size = size
    for (const { level, hash } of edge) tree.#edge[level] = hash
    return tree
  }

  /** Returns the nodes that the entry completes, its own first. */
  append(leaf: Buffer): TreeNode[] {
    const nodes = [{ level: 0, position: this.size, hash: leaf }]
    let [{ level, position, hash }] = nodes as [TreeNode]
    while (position % 2 === 1) {
      hash = nodeHash(this.#edge[level] as Buffer, hash)
      level += 1
      position = (position - 1) / 2
      nodes.push({ level, position, hash })
    }
    this.#edge[level] = hash
    this.size += 1
    return nodes
  }

  root(): Buffer {
    const edge = GrowingTree.edgeOf(this.size).map(({ level }) => this.#edge[level] as Buffer)
    return joined(edge) ?? sha256('')
  }
}

/**
 * The audit path of RFC 6962 §2.1.1, from the entry up. Each step is the subtrees whose joined hash it needs: several
 * at the right edge of the tree.
 */
export function auditPath(index: number, size: number): Place[][] {
  const walk = (start: number, end: number): Place[][] => {
    if (end - start === 1) return []
    const middle = start + 2 ** Math.ceil(Math.log2(end - start) - 1)
    return index < middle
      ? [...walk(start, middle), placesOf(middle, end)]
      : [...walk(middle, end), placesOf(start, middle)]
  }
  return walk(0, size)
}

/** Returns the hashes of an audit path. `hashAt` throws if it has no such node. */
export const proofOf = (index: number, size: number, hashAt: (place: Place) => Buffer): Buffer[] =>
  auditPath(index, size).map((step) => joined(step.map(hashAt)) as Buffer)

/**
 * Returns the root that a proof leads to (RFC 9162 §2.1.3.2), or undefined if it is too long or too short for this
 * index and size.
 */
export function rootFromProof(
  leaf: Buffer,
  { index, size, proof }: { index: number; size: number; proof: readonly Buffer[] },
): Buffer | undefined {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size)
    return undefined
  let hash = leaf
  let at = index
  let last = size - 1
  for (const other of proof) {
    if (last === 0) return undefined
    const onLeft = at % 2 === 1 || at === last
    hash = onLeft ? nodeHash(other, hash) : nodeHash(hash, other)
    // At the right edge, levels where the entry's subtree has no neighbour are skipped.
    while (onLeft && at % 2 === 0 && at !== 0) {
      at /= 2
      last = Math.floor(last / 2)
    }
    at = Math.floor(at / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 ? hash : undefined
}
