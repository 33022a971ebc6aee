import { chmod, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProcesses } from './start.ts'
import { temporaryFolder } from './temporary-folder.ts'

const END_DEADLINE_MS = 60_000
const POLL_MS = 100

export type TestRun = Awaited<ReturnType<typeof createTestRun>>

/** One run of the tests, which nothing that it starts or creates outlives. Descendants inherit `id`. */
export async function createTestRun(id = String(process.pid)) {
  const folder = await temporaryFolder('integration-access-run')
  // When root runs the tests, Postgres runs as another user.
  await chmod(folder, 0o711)
  const mark = `TEST_RUN=${id}`

  const running = () => findProcesses(folder, mark)

  /**
   * Waits until every process of the run has ended, kills those that have not after `deadline_ms`, and
   * removes the folder. Returns the commands of the processes that it killed.
   */
  async function end(deadline_ms = END_DEADLINE_MS): Promise<string[]> {
    const killed = new Map<number, string>()
    for (const start = performance.now(); ; await sleep(POLL_MS)) {
      const processes = await running()
      if (processes.length === 0) break
      if (performance.now() - start < deadline_ms) continue
      for (const { pid, command } of processes) {
        send('SIGKILL', pid)
        killed.set(pid, command)
      }
    }
    await rm(folder, { recursive: true, force: true })
    return [...killed.values()]
  }

  return {
    /** For the processes of mocha. */
    env: { TEST_RUN: id, TEST_CHROMIUM_PARENT: tmpdir(), TMPDIR: folder },
    /** Returns the path of a file in the temporary folder. */
    at: (name: string) => join(folder, name),
    end,
    /**
     * Kills every process but the stores, which shut down once their parent is gone, if no test has stopped
     * them. Then as `end`.
     */
    async interrupt() {
      for (const { pid, marked } of await running()) send(marked ? 'SIGKILL' : 'SIGCONT', pid)
      await end()
    },
  }
}

function send(signal: NodeJS.Signals, pid: number): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}
