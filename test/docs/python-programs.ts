import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { run } from '../support/program.ts'

const INSTALL_DEADLINE_MS = 200_000

/** Whether packages of PyPI can be installed for a test. */
export const hasPip = spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0

/** Installs a package into a virtual environment in a folder, and returns the path of its program. */
export async function installProgram(folder: string, program: string, version: string): Promise<string> {
  const venv = join(folder, 'venv')
  const options = { timeout: INSTALL_DEADLINE_MS }
  await run('python3', ['-m', 'venv', venv], options)
  await run(join(venv, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', version], options)
  return join(venv, 'bin', program)
}
