/** The arithmetic of tokens, entries and purges allows for wall clocks that differ by at most this. */
const APART_MAX_MS = 120_000

/** How far each store's wall clock is ahead of this process's; negative if it is behind. */
export interface ClockOffsets {
  postgres_ms: number
  redis_ms: number
}

/** The times before and after a store's clock was read, by this process's wall clock. */
export interface ReadBetween {
  before_ms: number
  after_ms: number
}

/** @returns the least that `theirs_ms` is ahead; 0 if it may be the same time. */
export function clockOffset_ms(theirs_ms: number, { before_ms, after_ms }: ReadBetween): number {
  if (theirs_ms < before_ms) return theirs_ms - before_ms
  return Math.max(0, theirs_ms - after_ms)
}

/** Whether any two of the three clocks differ by more than two minutes. */
export function areApart({ postgres_ms, redis_ms }: ClockOffsets): boolean {
  const offsets = [0, postgres_ms, redis_ms]
  return Math.max(...offsets) - Math.min(...offsets) > APART_MAX_MS
}
