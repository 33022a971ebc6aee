import { setTimeout as sleep } from 'node:timers/promises'

/** Asks every `every_ms` until `holds` returns true. @throws what `late` returns after `limit_ms`. */
export async function poll(
  holds: () => Promise<boolean>,
  { every_ms, limit_ms }: { every_ms: number; limit_ms: number },
  late: () => Error,
): Promise<void> {
  for (const end_ms = performance.now() + limit_ms; !(await holds()); await sleep(every_ms))
    if (performance.now() > end_ms) throw late()
}
