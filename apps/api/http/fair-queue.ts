export interface FairQueueOptions {
  /** How many callers may run at once. */
  concurrency: number
  /** How many callers of one key may run at once. Default: no limit. */
  concurrencyPerKey?: number
  /** How many wait at most, over all keys. */
  waitingMax: number
  /** The longest wait. */
  wait_ms: number
  /** Refuses all that wait when it is aborted. */
  signal?: AbortSignal
  /** Creates the error for a rejected caller. */
  refusal: () => Error
}

/**
 * Runs `work` once there is capacity for it.
 * @throws what `refusal` creates, without running `work`, if the queue is full or the wait too long.
 */
export type FairQueue = <T>(key: string, work: () => Promise<T>) => Promise<T>

interface Waiting {
  begin(): void
  refuse(): void
}

/**
 * Creates a queue in which keys take turns; within a key, callers run in order. When the queue is full, a
 * newcomer displaces the last caller of the key that has the most waiting, if its own key has fewer.
 */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { concurrency, concurrencyPerKey = Number.POSITIVE_INFINITY, waitingMax, wait_ms, refusal } = options
  const running = new Map<string, number>()
  /** By key, in the order in which the keys take turns. */
  const queues = new Map<string, Waiting[]>()
  let total = 0
  let waiting = 0

  function start(key: string): void {
    total += 1
    running.set(key, (running.get(key) ?? 0) + 1)
  }

  function finish(key: string): void {
    total -= 1
    const left = (running.get(key) ?? 1) - 1
    if (left > 0) running.set(key, left)
    else running.delete(key)
    startNext()
  }

  const hasCapacity = (key: string): boolean => (running.get(key) ?? 0) < concurrencyPerKey

  /** Returns the next key in turn that has capacity. */
  function nextKey(): string | undefined {
    for (const key of queues.keys()) if (hasCapacity(key)) return key
    return undefined
  }

  function startNext(): void {
    const key = total < concurrency ? nextKey() : undefined
    const next = key !== undefined && queues.get(key)?.[0]
    if (!next) return
    remove(key, next)
    rotate(key)
    start(key)
    next.begin()
  }

  function remove(key: string, caller: Waiting): void {
    const queue = queues.get(key) ?? []
    queue.splice(queue.indexOf(caller), 1)
    if (queue.length === 0) queues.delete(key)
    waiting -= 1
  }

  function rotate(key: string): void {
    const queue = queues.get(key)
    if (!queue) return
    queues.delete(key)
    queues.set(key, queue)
  }

  /** Returns whether a newcomer with this key may wait. */
  function makeRoom(key: string): boolean {
    if (waiting < waitingMax) return true
    const [longest = []] = [...queues.values()].sort((a, b) => b.length - a.length)
    if (longest.length <= (queues.get(key)?.length ?? 0) + 1) return false
    longest.at(-1)?.refuse()
    return true
  }

  function wait(key: string): Promise<void> {
    if (!makeRoom(key)) return Promise.reject(refusal())
    return new Promise((resolve, reject) => {
      const caller: Waiting = {
        begin() {
          clearTimeout(timer)
          resolve()
        },
        refuse() {
          clearTimeout(timer)
          remove(key, caller)
          reject(refusal())
        },
      }
      const timer = setTimeout(caller.refuse, wait_ms)
      const queue = queues.get(key)
      if (queue) queue.push(caller)
      else queues.set(key, [caller])
      waiting += 1
    })
  }

  options.signal?.addEventListener('abort', () => {
    for (const caller of [...queues.values()].flat()) caller.refuse()
  })
  return async (key, work) => {
    if (hasCapacity(key) && total < concurrency) start(key)
    else await wait(key)
    try {
      return await work()
    } finally {
      finish(key)
    }
  }
}
