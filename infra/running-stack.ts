import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { isRunning } from './is-running.ts'

/** In the data folder of the local stack, while it runs. */
export const RUNNING_FILE = 'running.json'

const runningSchema = z.object({
  /** A killed stack leaves the file. */
  pid: z.number(),
  /** As `integration_operator`. */
  databaseUrl: z.string(),
  ownerUrl: z.string(),
  redisUrl: z.string(),
  keyEncryptionKey: z.string(),
  /** The events of both services and of the admin command, one JSON object per line. */
  auditFile: z.string(),
})

/** How to reach a running local stack: what the stack writes, and the admin command reads. */
export type RunningStack = z.infer<typeof runningSchema>

/** Returns undefined if no stack runs on this data folder. Rejects if this user may not know. */
export async function readRunningStack(dataDir: string): Promise<RunningStack | undefined> {
  const text = await readFile(join(dataDir, RUNNING_FILE), 'utf8').catch((error) =>
    /^(?:ENOENT|ENOTDIR)$/.test(error.code) ? undefined : Promise.reject(error),
  )
  if (text === undefined) return undefined
  const stack = runningSchema.safeParse(JSON.parse(text)).data
  return stack && isRunning(stack.pid) ? stack : undefined
}
