import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const DEADLINE_MS = 40 * 60_000
const OUTPUT_MAX_BYTES = 64 * 1_024 * 1_024

/** Runs commands of a shell, all in one folder and environment. */
export function createShell(cwd: string, env: Record<string, string>) {
  const options = { cwd, env: { ...process.env, ...env }, timeout: DEADLINE_MS, maxBuffer: OUTPUT_MAX_BYTES }
  /** Returns what the command printed. Rejects with its standard error if it fails. */
  return async function run(command: string, input = ''): Promise<string> {
    const running = promisify(execFile)('bash', ['-o', 'pipefail', '-ec', command], options)
    running.child.stdin?.on('error', () => {}).end(input)
    return (await running).stdout
  }
}

export type Shell = ReturnType<typeof createShell>
