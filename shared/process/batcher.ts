const WAITING_MAX = 10_000

/**
 * Coalesces calls of one tick into a batch, as DataLoader does. A batch of at most `size` begins after each
 * of its calls was made, so its results are as fresh as if each had run alone.
 * `run` returns one result for each item, in their order; if it rejects, each call of the batch does.
 * At most `concurrency` batches run at once. Up to 10,000 calls wait; more reject with code ETIMEDOUT.
 */
export function createBatcher<Item, Result>(
  run: (items: Item[]) => Promise<readonly Result[]>,
  size: number,
  concurrency = Number.POSITIVE_INFINITY,
): (item: Item) => Promise<Result> {
  type PendingCall = { item: Item } & PromiseWithResolvers<Result>
  let queue: PendingCall[] = []
  let running = 0
  let scheduled = false

  function schedule(): void {
    if (scheduled || queue.length === 0 || running >= concurrency) return
    scheduled = true
    setImmediate(runBatch)
  }

  async function runBatch(): Promise<void> {
    scheduled = false
    const batch = queue.slice(0, size)
    queue = queue.slice(size)
    running += 1
    schedule()
    try {
      const results = await run(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, i) => {
        resolve(results[i] as Result)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    running -= 1
    schedule()
  }

  return (item) => {
    if (queue.length >= WAITING_MAX)
      return Promise.reject(Object.assign(new Error('too many wait'), { code: 'ETIMEDOUT' }))
    const call = { item, ...Promise.withResolvers<Result>() }
    queue.push(call)
    schedule()
    return call.promise
  }
}
