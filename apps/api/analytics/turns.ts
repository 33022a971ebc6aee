import { unavailable } from '../http/problem.ts'

/**
 * At most `atOnce` pieces of work at the same time for each key, further ones in the order in which they came. A
 * company that sends many calls at once waits for itself then, and not every other company for a free connection.
 * @throws Problem unavailable when `waitingMax` are waiting already, or after a wait of `wait_ms`: by then the caller
 * may have gone, and must not find later that its call counted.
 */
export function createTurns({
  atOnce,
  waitingMax,
  wait_ms,
}: {
  atOnce: number
  waitingMax: number
  wait_ms: number
}) {
  const queues = new Map<string, { running: number; waiting: (() => void)[] }>()

  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(key) ?? { running: 0, waiting: [] }
    queues.set(key, queue)
    if (queue.running < atOnce) queue.running += 1
    else if (queue.waiting.length >= waitingMax)
      throw unavailable('Too many calls of this company are waiting.')
    else await turn(queue.waiting, wait_ms)
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

function turn(waiting: (() => void)[], wait_ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const begin = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(begin), 1)
      reject(unavailable('The calls of this company wait too long.'))
    }, wait_ms)
    waiting.push(begin)
  })
}
