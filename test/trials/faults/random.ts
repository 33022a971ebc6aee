/** Numbers that follow from a seed alone (mulberry32). */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number
  pick<T>(from: readonly T[]): T
  shuffled<T>(list: readonly T[]): T[]
  /** Another sequence, which this one's seed and the name decide. */
  named(name: string): Random
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    pick: (from) => from[Math.floor(next() * from.length)] as (typeof from)[number],
    shuffled(list) {
      const ranked = list.map((item) => ({ item, rank: next() }))
      return ranked.sort((a, b) => a.rank - b.rank).map(({ item }) => item)
    },
    named: (name) => createRandom([...name].reduce((hash, c) => Math.imul(hash, 31) + c.charCodeAt(0), seed)),
  }
}
