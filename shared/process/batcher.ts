const WAITING_MAX = 10_000
const late = () => Object.assign(new Error('too many calls wait, or too long'), { code: 'ETIMEDOUT' })

/**
 * Coalesces calls of one tick into a batch, as DataLoader does. A batch of at most `size` begins after each
 * of its calls was made, so its results are as fresh as if each had run alone. `run` returns one result for
 * each item, in their order; if it rejects, each call does. At most `concurrency` batches run at once. With
 * code ETIMEDOUT reject calls beyond the 10,000 that may wait, and those without a result after `wait_ms`.
 */
export function createBatcher<Item, Result>(
  run: (items: Item[]) => Promise<readonly Result[]>,
  size: number,
  { concurrency = Number.POSITIVE_INFINITY, wait_ms }: { concurrency?: number; wait_ms?: number } = {},
): (item: Item) => Promise<Result> {
  type PendingCall = { item: Item } & PromiseWithResolvers<Result>
  const queue: PendingCall[] = []
  let running = 0
  let scheduled = false

  function schedule(): void {
    if (scheduled || queue.length === 0 || running >= concurrency) return
    scheduled = true
    setImmediate(runBatch)
  }

  async function runBatch(): Promise<void> {
    scheduled = false
    const batch = queue.splice(0, size)
    running += 1
    schedule()
    try {
      const results = await run(batch.map(({ item }) => item))
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as Result)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    running -= 1
    schedule()
  }

  return (item) => {
    if (queue.length >= WAITING_MAX) return Promise.reject(late())
    const call = { item, ...Promise.withResolvers<Result>() }
    queue.push(call)
    schedule()
    if (wait_ms === undefined) return call.promise
    const timer = setTimeout(() => {
      const place = queue.indexOf(call)
      if (place >= 0) queue.splice(place, 1)
      call.reject(late())
    }, wait_ms)
    return call.promise.finally(() => clearTimeout(timer))
  }
}
