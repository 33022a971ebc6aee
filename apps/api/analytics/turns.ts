import { unavailable } from '../http/problem.ts'

/**
 * At most `atOnce` pieces of work at the same time for each key, further ones in the order in which they came. A
 * company that sends many calls at once waits for itself then, and not every other company for a free connection.
 * @throws Problem unavailable when `waitingMax` are waiting already.
 */
export function createTurns({ atOnce, waitingMax }: { atOnce: number; waitingMax: number }) {
  const queues = new Map<string, { running: number; waiting: (() => void)[] }>()

  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(key) ?? { running: 0, waiting: [] }
    queues.set(key, queue)
    if (queue.running < atOnce) queue.running += 1
    else if (queue.waiting.length >= waitingMax)
      throw unavailable('Too many calls of this company are waiting.')
    else await new Promise<void>((resolve) => queue.waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = queue.waiting.shift()
      // Whoever is next takes over the place of this one.
      if (next) next()
      else if (--queue.running === 0) queues.delete(key)
    }
  }
}
