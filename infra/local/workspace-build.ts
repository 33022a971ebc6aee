import { execFile } from 'node:child_process'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { errorCode, Failure } from './failure.ts'

const run = promisify(execFile)
const NOT_SOURCES = new Set(['dist', 'node_modules'])

/**
 * Builds the workspace's files when there are none, or a source is newer. Several starts may do so at once: each
 * builds aside and moves its result into place.
 * @returns the folder with the files.
 */
export async function builtWorkspace(root: string, say: (line: string) => void): Promise<string> {
  const source = join(root, 'apps/workspace')
  const dist = join(source, 'dist')
  const built_ms = await modified(join(dist, 'index.html'))
  const inputs = [
    join(root, 'package-lock.json'),
    join(root, 'shared/look.css'),
    ...(await filesBelow(source)),
  ]
  const newest_ms = Math.max(...(await Promise.all(inputs.map(modified))))
  if (built_ms > newest_ms) return dist
  say('Workspace: building the screens')
  const fresh = join(root, 'node_modules/.cache', `workspace-${process.pid}`)
  try {
    const vite = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js')
    await run(process.execPath, [vite, 'build', '--outDir', relative(source, fresh), '--emptyOutDir'], {
      cwd: source,
    })
    await rm(dist, { recursive: true, force: true })
    await rename(fresh, dist).catch(async (error) => {
      if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) throw error
      await rm(fresh, { recursive: true, force: true })
    })
    return dist
  } catch (error) {
    await rm(fresh, { recursive: true, force: true })
    const words = (error as { stderr?: string }).stderr?.trim() || (error as Error).message
    throw new Failure(`The workspace's screens could not be built: ${words}`, { cause: error })
  }
}

const modified = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  )

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const below = await Promise.all(
    entries.map((entry) => {
      const path = join(folder, entry.name)
      if (!entry.isDirectory()) return [path]
      return NOT_SOURCES.has(entry.name.split('.')[0] ?? '') ? [] : filesBelow(path)
    }),
  )
  return below.flat()
}
