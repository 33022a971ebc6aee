/**
 * Runs a task and returns the most CPU time, in ms, that this thread took for one turn of its event loop meanwhile. Time
 * in which the thread waited, for a store or for a core that others kept busy, does not count.
 */
export async function longestTurn_ms(task: () => Promise<unknown>): Promise<number> {
  let longest_us = 0
  let last = process.threadCpuUsage()
  let running = true
  function turn(): void {
    const { user, system } = process.threadCpuUsage(last)
    longest_us = Math.max(longest_us, user + system)
    last = process.threadCpuUsage()
    if (running) setImmediate(turn)
  }
  setImmediate(turn)
  await task().finally(() => {
    turn()
    running = false
  })
  return longest_us / 1_000
}
