/** The arithmetic of tokens, entries and purges allows for wall clocks that differ by at most this. */
const APART_MAX_MS = 120_000

/** How far each store's wall clock is ahead of this process's; negative if it is behind. */
export type ClockOffsets = Record<'postgres_ms' | 'redis_ms', number>

/** Returns how far ahead a clock read between two of our times is at least; 0 if it may be the same. */
export const clockOffset_ms = (theirs_ms: number, ours: Record<'before_ms' | 'after_ms', number>): number =>
  theirs_ms < ours.before_ms ? theirs_ms - ours.before_ms : Math.max(0, theirs_ms - ours.after_ms)

/** Whether any two of the three clocks differ by more than two minutes. */
export function areApart({ postgres_ms, redis_ms }: ClockOffsets): boolean {
  const offsets = [0, postgres_ms, redis_ms]
  return Math.max(...offsets) - Math.min(...offsets) > APART_MAX_MS
}
