import { hash } from 'node:crypto'

export type Random = ReturnType<typeof createRandom>

/** Returns a random generator whose choices follow from the seed alone. */
export function createRandom(seed: string) {
  let drawn = 0
  /** From 0 up to, not including, 1. */
  const next = (): number => hash('sha256', `${seed} ${++drawn}`, 'buffer').readUInt32BE() / 2 ** 32
  return {
    next,
    pick: <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T,
    shuffled<T>(list: readonly T[]): T[] {
      const ranked = list.map((item) => ({ item, rank: next() }))
      return ranked.sort((a, b) => a.rank - b.rank).map(({ item }) => item)
    },
  }
}
