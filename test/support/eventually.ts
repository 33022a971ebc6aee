import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

export interface EventuallyOptions {
  otherwise?: () => string
  limit_ms?: number
  every_ms?: number
}

/**
 * Waits until something holds. By default it looks every 20 ms for a minute. Returns the first truthy answer
 * of `holds`.
 * @throws AssertionError if it does not hold in time; whatever `holds` throws.
 */
export async function eventually<T>(
  holds: () => T | Promise<T>,
  { otherwise = () => 'it never was', limit_ms = 60_000, every_ms = 20 }: EventuallyOptions = {},
): Promise<Exclude<T, undefined | false>> {
  for (const end = performance.now() + limit_ms; ; await sleep(every_ms)) {
    const answer = await holds()
    if (answer) return answer as Exclude<T, undefined | false>
    if (performance.now() > end) assert.fail(otherwise())
  }
}
