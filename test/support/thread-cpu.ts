/**
 * Runs a task and returns the CPU time, in ms, that this thread took meanwhile. Time in which it waited, for
 * a store or for a core that others kept busy, does not count.
 */
export async function threadCpu_ms(task: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage()
  await task()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
