import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

export interface EventuallyOptions {
  /** What the failure says, put together when it fails. */
  otherwise?: () => string
  limit_ms?: number
  every_ms?: number
}

/**
 * Waits until something holds: looks every 20 ms for a minute, unless it is told otherwise.
 * @throws AssertionError if it does not hold in time; whatever `holds` throws.
 */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  { otherwise = () => 'it never was', limit_ms = 60_000, every_ms = 20 }: EventuallyOptions = {},
): Promise<void> {
  for (const end = performance.now() + limit_ms; !(await holds()); await sleep(every_ms))
    if (performance.now() > end) assert.fail(otherwise())
}
