import assert from 'node:assert/strict'
import { canonicalJson } from '#shared/accounts/activity-leaf.ts'
import {
  auditPath,
  GrowingTree,
  leafHash,
  nodeHash,
  type Place,
  proofOf,
  rootFromProof,
} from '#shared/accounts/activity-tree.ts'

/** The entries and roots with which implementations of RFC 6962 test each other (certificate-transparency-go). */
const ENTRIES = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
]
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

/** RFC 6962 §2.1, as it is written there. */
function rootOf(leaves: Buffer[]): Buffer {
  if (leaves.length === 1) return leaves[0] as Buffer
  const k = 2 ** Math.floor(Math.log2(leaves.length - 1))
  return nodeHash(rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)))
}

describe('the tree of the activity log (RFC 6962)', () => {
  it('has the roots that other implementations have', () => {
    const tree = new GrowingTree()
    const roots = [tree.root().toString('hex')]
    for (const entry of ENTRIES) {
      tree.append(leafHash(Buffer.from(entry, 'hex').toString('latin1')))
      roots.push(tree.root().toString('hex'))
    }
    assert.deepEqual(roots, ROOTS)
  })

  it('proves each entry of each size up to 40, and continues from its edge', () => {
    const nodes = new Map<string, Buffer>()
    const leaves: Buffer[] = []
    const hashAt = ({ level, position }: Place) => nodes.get(`${level} ${position}`) ?? assert.fail('no node')
    for (let size = 1; size <= 40; size += 1) {
      const edge = GrowingTree.edgeOf(size - 1).map((place) => ({ ...place, hash: hashAt(place) }))
      const tree = GrowingTree.from(size - 1, edge)
      const leaf = leafHash(`entry ${size}`)
      leaves.push(leaf)
      for (const { level, position, hash } of tree.append(leaf)) nodes.set(`${level} ${position}`, hash)
      const root = rootOf(leaves)
      assert.deepEqual(tree.root(), root)
      for (let index = 0; index < size; index += 1) {
        const proof = proofOf(index, size, hashAt)
        assert.ok(auditPath(index, size).length <= Math.ceil(Math.log2(size)))
        const found = (leaf: Buffer, changes = {}) => rootFromProof(leaf, { index, size, proof, ...changes })
        assert.deepEqual(found(leaves[index] as Buffer), root)
        assert.notDeepEqual(found(leafHash('another')), root)
        assert.equal(found(leaves[index] as Buffer, { proof: [...proof, root] }), undefined)
        if (size > 1) assert.notDeepEqual(found(leaves[index] as Buffer, { index: (index + 1) % size }), root)
        if (size > 1) assert.equal(found(leaves[index] as Buffer, { proof: proof.slice(1) }), undefined)
      }
    }
  })

  it('refuses a proof for an index that is no place in the tree', () => {
    for (const index of [-1, 1, 0.5, Number.NaN])
      assert.notDeepEqual(
        rootFromProof(leafHash('a'), { index, size: 1, proof: [] }),
        leafHash('a'),
        `${index}`,
      )
  })
})

describe('canonical JSON (RFC 8785)', () => {
  it('sorts members, keeps lists in order and has no spaces', () => {
    const value = JSON.parse(
      '{"b": [2, 1.0, {"z": null, "a": "\\u20ac\\n"}], "10": true, "9": 1e3, "a": "", "__proto__": {}}',
    )
    assert.equal(
      canonicalJson(value),
      '{"10":true,"9":1000,"__proto__":{},"a":"","b":[2,1,{"a":"€\\n","z":null}]}',
    )
  })
})
