import { mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** More than the stores of a run hold at once. A container's default of 64 MiB is too little. */
const ROOM_MIN_BYTES = 2 * 1_024 ** 3

/**
 * A new folder for the data of stores, which nobody needs after the run: in memory where Linux offers enough of it,
 * since copying and dropping databases is much cheaper there than on disk.
 */
export async function storeFolder(prefix: string): Promise<string> {
  const room_bytes = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return mkdtemp(join(room_bytes >= ROOM_MIN_BYTES ? MEMORY : tmpdir(), prefix))
}
