import { z } from 'zod'
import type { ActivityRecord } from '#shared/accounts/activity.ts'
import { base64url } from '#shared/accounts/activity-leaf.ts'
import { newestHead, readProofs } from '#shared/accounts/activity-log.ts'
import type { Database } from '#shared/stores/postgres.ts'

const hash = z.string()

export const LogPlace = z
  .object({
    index: z.int(),
    salt: hash.nullable().meta({ description: 'Null once the detail is erased.' }),
    detailHash: hash,
    operatorHash: hash.nullable(),
    proof: z.string().meta({ description: 'Hashes, separated by dots.' }),
  })
  .meta({ id: 'LogPlace', description: 'Proves that `head` covers the entry (RFC 9162 §2.1.3).' })

export const LogHead = z
  .object({ treeSize: z.int(), rootHash: hash, signed: z.string().nullable() })
  .meta({ id: 'LogHead', description: 'The log of all entries. `signed` is a JWS of the same.' })

/** Returns the newest head, and the place in the log of each record that it covers, by entry; null for the others. */
export async function readPlaces(
  db: Database,
  records: readonly ActivityRecord[],
): Promise<{ head: z.infer<typeof LogHead> | null; places: Map<number, z.infer<typeof LogPlace>> }> {
  const head = await newestHead(db)
  if (!head) return { head: null, places: new Map() }
  const { treeSize, rootHash, signed } = head
  const covered = records.filter(({ leafIndex }) => leafIndex !== null && leafIndex < treeSize)
  const indexes = covered.map(({ leafIndex }) => leafIndex as number)
  const proofs = await readProofs(db, indexes, treeSize)
  const places = covered.map(({ entryId, leafIndex, salt, detailHash, operatorHash }) => {
    const index = leafIndex as number
    const place = {
      index,
      salt: base64url(salt),
      detailHash: detailHash?.toString('base64url') ?? '',
      operatorHash: base64url(operatorHash),
      proof: (proofs.get(index) ?? []).map(base64url).join('.'),
    }
    return [entryId, place] as const
  })
  return { head: { treeSize, rootHash: rootHash.toString('base64url'), signed }, places: new Map(places) }
}
