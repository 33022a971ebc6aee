import { appendFile, chown, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Knex } from 'knex'
import { run } from './program.ts'

/** Takes a base backup while the server runs, as pg_basebackup does. `db` is its superuser's connection. */
export async function baseBackup(db: Knex, { from, to }: { from: string; to: string }): Promise<void> {
  await db.transaction(async (transaction) => {
    await transaction.raw(`select pg_backup_start('base backup', true)`)
    // A file may vanish while it is copied, which cp reports at its end. Replaying the log makes up for it.
    await run('cp', ['-a', from, to]).catch(() => {})
    const { rows } = await transaction.raw('select labelfile from pg_backup_stop(false)')
    await writeOwned(join(to, 'backup_label'), rows[0].labelfile, to)
  })
  for (const file of ['postmaster.pid', 'postmaster.opts']) await rm(join(to, file), { force: true })
}

/** Adds settings to the data directory, and the file that makes the next start a recovery of this kind. */
export async function recoverWith(
  directory: string,
  signal: 'standby.signal' | 'recovery.signal',
  settings: Record<string, string>,
): Promise<void> {
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`,
  )
  await appendFile(join(directory, 'postgresql.auto.conf'), lines.join(''))
  await writeOwned(join(directory, signal), '', directory)
}

/** The server does not run as root. */
async function writeOwned(file: string, text: string, like: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 })
  const { uid, gid } = await stat(join(like, 'PG_VERSION'))
  await chown(file, uid, gid)
}
