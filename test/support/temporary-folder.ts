import { mkdtemp, readdir, readFile, rm, stat, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** A run holds half a GiB at most, with `--all` two. A container's default of 64 MiB is too little. */
const ROOM_MIN_BYTES = 3 * 1_024 ** 3

export const inMemory = (folder: string): boolean => folder.startsWith(`${MEMORY}/`)

/**
 * A new folder for what is discarded after the run: in memory where Linux offers enough of it and runs
 * programs there, since creating and removing files by the thousand takes a tenth of a run on disk. Below the
 * folder of the run that this process is part of, if it is. What a killed process left in memory goes first.
 */
export async function temporaryFolder(name: string): Promise<string> {
  await removeAbandoned(name)
  const parent = !process.env.TEST_RUN && (await isUsable()) ? MEMORY : tmpdir()
  return mkdtemp(join(parent, `${name}-${process.pid}-`))
}

async function isUsable(): Promise<boolean> {
  const room_bytes = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '')
  return room_bytes >= ROOM_MIN_BYTES && !/^\S+ \/dev\/shm .*\bnoexec\b/m.test(mounts)
}

/** Removes the folders in memory whose process has ended. Another user's stay. */
async function removeAbandoned(name: string): Promise<void> {
  const pattern = new RegExp(`^${name}-(\\d+)-`)
  for (const folder of await readdir(MEMORY).catch(() => [])) {
    const pid = pattern.exec(folder)?.[1]
    if (!pid || (await stat(`/proc/${pid}`).catch(() => null))) continue
    await rm(join(MEMORY, folder), { recursive: true, force: true }).catch(() => {})
  }
}
