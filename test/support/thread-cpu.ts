/** Runs a task. Returns the CPU time of this thread meanwhile, in ms, which does not count its waits. */
export async function threadCpu_ms(task: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage()
  await task()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
