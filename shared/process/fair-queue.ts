export interface FairQueueOptions {
  /** How many callers may be inside at once. */
  atOnce: number
  /** The same for each key. Default: no limit. */
  atOncePerKey?: number
  /** How many wait at most, over all keys. */
  waitingMax: number
  /** The longest wait. */
  wait_ms: number
  /** Creates the error for a rejected caller. */
  refusal: () => Error
}

/**
 * Does `work` once there is room for it.
 * @throws the error that `refusal` creates if the queue is full or the wait was too long: `work` is not done then.
 */
export type FairQueue = <T>(key: string, work: () => Promise<T>) => Promise<T>

interface Waiting {
  begin(): void
  refuse(): void
}

/**
 * A fair queue, keyed. Keys take turns, and within a key the first comes first. When the queue is full,
 * a newcomer takes the place of the last one of the key that has the most waiting, if its own key has fewer.
 */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { atOnce, atOncePerKey = Number.POSITIVE_INFINITY, waitingMax, wait_ms, refusal } = options
  const inside = new Map<string, number>()
  /** By key, in the order in which the keys take turns. */
  const queues = new Map<string, Waiting[]>()
  let used = 0
  let waiting = 0

  function enter(key: string): void {
    used += 1
    inside.set(key, (inside.get(key) ?? 0) + 1)
  }

  function leave(key: string): void {
    used -= 1
    const left = (inside.get(key) ?? 1) - 1
    if (left > 0) inside.set(key, left)
    else inside.delete(key)
    letIn()
  }

  const mayEnter = (key: string): boolean => (inside.get(key) ?? 0) < atOncePerKey

  /** The key whose turn it is, of those that may enter. */
  function nextKey(): string | undefined {
    for (const key of queues.keys()) if (mayEnter(key)) return key
    return undefined
  }

  function letIn(): void {
    const key = used < atOnce ? nextKey() : undefined
    const next = key !== undefined && queues.get(key)?.[0]
    if (!next) return
    remove(key, next)
    moveBack(key)
    enter(key)
    next.begin()
  }

  function remove(key: string, one: Waiting): void {
    const queue = queues.get(key) ?? []
    queue.splice(queue.indexOf(one), 1)
    if (queue.length === 0) queues.delete(key)
    waiting -= 1
  }

  function moveBack(key: string): void {
    const queue = queues.get(key)
    if (!queue) return
    queues.delete(key)
    queues.set(key, queue)
  }

  /** Returns whether a newcomer of this key may wait. */
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
      const one: Waiting = {
        begin() {
          clearTimeout(timer)
          resolve()
        },
        refuse() {
          clearTimeout(timer)
          remove(key, one)
          reject(refusal())
        },
      }
      const timer = setTimeout(one.refuse, wait_ms)
      const queue = queues.get(key)
      if (queue) queue.push(one)
      else queues.set(key, [one])
      waiting += 1
    })
  }

  return async (key, work) => {
    if (mayEnter(key) && used < atOnce) enter(key)
    else await wait(key)
    try {
      return await work()
    } finally {
      leave(key)
    }
  }
}
