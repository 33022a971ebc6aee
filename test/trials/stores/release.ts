import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { globSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { markSchema } from '#shared/stores/database-checks.ts'
import { migrate } from '../../../infra/database/migrate.ts'
import { createClient } from '../../support/auth.ts'
import { createTestDatabase, createTestRedis } from '../../support/servers.ts'
import { type Check, openDatabase } from './check.ts'
import { startInstallation } from './installation.ts'
import { startLoad } from './load.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../..')
const MIGRATIONS = 'infra/database/migrations'
const CLIENTS = 2_000
const SETTLED_MS = 4_000

/** Returns the names of a version's migrations. An older version may have them in another folder of infra. */
const migrationsIn = (root: string): string[] =>
  globSync('infra/**/migrations/*.ts', { cwd: root })
    .map((path) => basename(path))
    .sort()

/** The project as it was before its newest migration came, with the packages of today. */
async function checkOutBefore(folder: string): Promise<void> {
  const newest = join(MIGRATIONS, migrationsIn(ROOT).at(-1) as string)
  const git = async (...args: string[]) => (await run('git', args, { cwd: ROOT })).stdout.trim()
  const added = await git('log', '--follow', '--diff-filter=A', '--format=%H', '-1', '--', newest)
  const archive = join(folder, 'before.tar')
  await git('archive', `--output=${archive}`, `${added}^`).catch((error) => {
    throw new Error(`the history does not go back to before ${newest}: clone it whole`, { cause: error })
  })
  await mkdir(join(folder, 'before'))
  await run('tar', ['-xf', archive, '-C', join(folder, 'before')])
  await symlink(join(ROOT, 'node_modules'), join(folder, 'before/node_modules'))
}

/** Both services of the version before, under load, while this one migrates, starts beside them, and stays alone. */
export async function released(): Promise<Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-release-'))
  await checkOutBefore(folder)
  const root = join(folder, 'before')
  const before = migrationsIn(root)
  const database = await createTestDatabase()
  const redis = await createTestRedis()
  const owner = openDatabase(database.ownerUrl)
  const missing = migrationsIn(ROOT).filter((name) => !before.includes(name))
  for (const name of missing.toReversed())
    await owner.migrate.down({ directory: join(ROOT, MIGRATIONS), loadExtensions: ['.ts'], name })
  await markSchema(owner, Number.parseInt(before.at(-1) as string, 10))
  const { vendorId, scopes } = await createClient(owner, { scopes: ['analytics:read', 'analytics:write'] })
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, () => createClient(owner, { vendorId, scopes })),
  )
  const options = {
    databaseUrls: { auth: database.authUrl, api: database.apiUrl },
    redis,
    keyEncryptionKey: randomBytes(32).toString('base64'),
  }
  const ready = async (url: string) => (await fetch(`${url}/readyz`)).status === 200
  const old = await startInstallation({ ...options, root })
  const oldReady = await ready(old.apiUrl)
  const oldLoad = startLoad(old, clients.slice(0, CLIENTS / 2))
  await sleep(SETTLED_MS)
  const ran = await migrate({ ownerUrl: database.ownerUrl })
  await sleep(SETTLED_MS)
  const stillReady = await ready(old.apiUrl)
  const next = await startInstallation(options)
  const nextLoad = startLoad(next, clients.slice(CLIENTS / 2))
  await sleep(SETTLED_MS)
  await oldLoad.stop()
  await old.stop()
  await sleep(SETTLED_MS)
  const nextReady = await ready(next.apiUrl)
  await nextLoad.stop()
  await next.stop()
  await owner.destroy()
  await redis.stop('SIGKILL')
  await database.drop()
  await rm(folder, { recursive: true })
  const kinds = [oldLoad, nextLoad].map(({ answers }) => Object.fromEntries(answers))
  process.stdout.write(`ran ${ran.join(', ')}: ${JSON.stringify(kinds)}\n`)
  const succeeded = (answers: object) => Object.keys(answers).every((answer) => answer.endsWith(' 200'))
  return [
    ['this version has migrations that the one before lacks', ran.join() === missing.join()],
    ['the version before is ready, before the migration and after it', oldReady && stillReady],
    ['this one is ready', nextReady],
    ['every request to the version before was answered as ever', succeeded(kinds[0] as object)],
    ['and every one to this', succeeded(kinds[1] as object)],
  ]
}
