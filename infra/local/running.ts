import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type DataDir, writePrivateFile } from './data-dir.ts'

const FILE = 'running.json'

const runningSchema = z.object({
  /** As `integration_operator`. */
  databaseUrl: z.string(),
  ownerUrl: z.string(),
  redisUrl: z.string(),
  keyEncryptionKey: z.string(),
})

/** The addresses and credentials of a running stack's stores, for the operator's commands. */
export type RunningStack = z.infer<typeof runningSchema>

/** Writes a file to the data folder while the stack runs. Returns a function that removes it. */
export async function writeRunning(
  dataDir: DataDir,
  running: RunningStack,
): Promise<{ stop(): Promise<void> }> {
  const file = dataDir.at(FILE)
  await writePrivateFile(file, `${JSON.stringify(running, null, 2)}\n`)
  return { stop: () => rm(file, { force: true }) }
}

/** Returns undefined if no stack runs on this data folder, or this user may not read the file. */
export async function readRunning(dataDir: string): Promise<RunningStack | undefined> {
  const text = await readFile(join(dataDir, FILE), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  return runningSchema.safeParse(JSON.parse(text)).data
}
