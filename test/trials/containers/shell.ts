import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { Failure } from '../../../infra/local/failure.ts'

const DEADLINE_MS = 40 * 60_000

/** Runs commands of a shell, all in one folder and environment. */
export function createShell(cwd: string, env: Record<string, string>) {
  /**
   * Returns what the command printed.
   * @throws Failure with its last lines if it fails.
   */
  return async function run(command: string, input = ''): Promise<string> {
    const options = { cwd, env: { ...process.env, ...env }, timeout: DEADLINE_MS }
    const child = spawn('bash', ['-o', 'pipefail', '-ec', command], options)
    child.stdin.on('error', () => {}).end(input)
    const [[code], stdout, stderr] = await Promise.all([
      once(child, 'close'),
      buffer(child.stdout),
      buffer(child.stderr),
    ])
    if (code !== 0)
      throw new Failure(`"${command}" ended with ${code}: ${`${stderr}${stdout}`.slice(-1_000)}`)
    return `${stdout}`
  }
}

export type Shell = ReturnType<typeof createShell>
