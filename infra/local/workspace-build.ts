import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import type { ShowProgress } from '../progress.ts'
import { endWithParent, runToEnd, storeEnvironment } from './child.ts'
import { BUILD_FAILED, errorCode, StartError } from './start-error.ts'

const KEPT_UNUSED_MS = 30 * 24 * 3_600_000
const NOT_SOURCES = new Set(['dist', 'node_modules'])

/**
 * Builds the workspace's files, unless these sources were built before. Each build has a folder named after
 * its sources, which is created complete and never written again, so that concurrent starts do not disturb
 * each other. Returns the folder with the files.
 * @throws StartError with Vite's last words, after `deadline_ms`, by default 5 minutes, or at `signal`.
 */
export async function buildWorkspace(
  root: string,
  show: ShowProgress,
  { deadline_ms, signal }: { deadline_ms?: number; signal?: AbortSignal } = {},
): Promise<string> {
  const source = join(root, 'apps/workspace')
  const builds = join(root, 'node_modules/.cache/workspace')
  const built = join(builds, await fingerprint(root, source))
  const now = new Date()
  await utimes(built, now, now).catch(() => {}) // It is in use again.
  if (existsSync(built)) return built
  show('Workspace: building the screens')
  const creating = mkdir(builds, { recursive: true }).then(() => mkdtemp(join(builds, 'unfinished-')))
  const fresh = await creating.catch(({ message }) => {
    throw new StartError(`${BUILD_FAILED}: ${message}. For the first start, node_modules must be writable.`)
  })
  try {
    const vite = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js')
    const build = [process.execPath, vite, 'build', '--outDir', relative(source, fresh), '--emptyOutDir']
    const command = await endWithParent('KILL', build)
    // Without NODE_ENV, with which the same sources give other files, and without secrets.
    const options = { cwd: source, env: storeEnvironment(), timeout: deadline_ms, signal }
    await runToEnd(command, BUILD_FAILED, options)
    if (!existsSync(join(fresh, 'index.html'))) throw new StartError(`${BUILD_FAILED}: Vite wrote no page.`)
    await rename(fresh, built).catch((error) => {
      if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) throw error
    })
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
  await removeUnused(builds).catch(() => {}) // Another start may remove the same.
  return built
}

/** A running stack may serve any other, and another branch use it again. */
async function removeUnused(folder: string): Promise<void> {
  for (const path of (await readdir(folder)).map((name) => join(folder, name)))
    if ((await stat(path)).mtimeMs < Date.now() - KEPT_UNUSED_MS) await rm(path, { recursive: true })
}

async function fingerprint(root: string, source: string): Promise<string> {
  const files = [...(await filesBelow(source)), ...(await filesBelow(join(root, 'shared')))].sort()
  const hash = createHash('sha256')
  for (const [file, text] of await readFiles([join(root, 'package-lock.json'), ...files]))
    hash.update(JSON.stringify([relative(root, file), text]))
  return hash.digest('hex').slice(0, 32)
}

const readFiles = (files: string[]): Promise<[file: string, text: string][]> =>
  Promise.all(files.map(async (file) => [file, await readFile(file, 'latin1')]))

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const below = await Promise.all(
    entries.map((entry) => {
      const path = join(folder, entry.name)
      if (!entry.isDirectory()) return [path]
      return NOT_SOURCES.has(entry.name) ? [] : filesBelow(path)
    }),
  )
  return below.flat()
}
