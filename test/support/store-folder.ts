import { mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const MEMORY = '/dev/shm'
/** More than the stores of a run hold at once. A container's default of 64 MiB is too little. */
const ROOM_MIN_BYTES = 2 * 1_024 ** 3

export const inMemory = (folder: string): boolean => folder.startsWith(`${MEMORY}/`)

/**
 * A new folder for the data of stores, discarded after the run: in memory where Linux offers enough of it, since
 * copying and dropping databases is much cheaper there than on disk. What a killed run left in memory goes first.
 */
export async function storeFolder(name: string): Promise<string> {
  await removeAbandoned(name)
  const room_bytes = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  const pid = process.env.TEST_RUN ?? process.pid
  return mkdtemp(join(room_bytes >= ROOM_MIN_BYTES ? MEMORY : tmpdir(), `${name}-${pid}-`))
}

/** Removes the folders in memory whose process has ended. */
async function removeAbandoned(name: string): Promise<void> {
  const pattern = new RegExp(`^${name}-(\\d+)-`)
  for (const folder of await readdir(MEMORY).catch(() => [])) {
    const pid = pattern.exec(folder)?.[1]
    if (!pid || (await stat(`/proc/${pid}`).catch(() => null))) continue
    await rm(join(MEMORY, folder), { recursive: true, force: true })
  }
}
