import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { Failure } from './failure.ts'
import { CONFIGURATION_FILE, redisUrl } from './redis.ts'

const run = promisify(execFile)
const END_DEADLINE_MS = 30_000
const POLL_MS = 50
const REDIS_ANSWER_MS = 1_000

/**
 * Stops a Postgres that still runs on `directory` because its stack was killed. The caller holds the data folder's lock,
 * so no running stack uses it.
 * @returns whether there was one.
 */
export async function stopLeftoverPostgres(directory: string): Promise<boolean> {
  const pidFile = join(directory, 'postmaster.pid')
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 0) return false
  if (!(await commandOf(pid)).includes(directory)) {
    // The pid may belong to another program by now, and Postgres would mistake that for its own server.
    await rm(pidFile, { force: true })
    return false
  }
  await endProcess(pid, 'SIGINT')
  return true
}

/** Stops a Redis that still runs on `directory`. It is ours if it accepts our password and names our file. */
export async function stopLeftoverRedis(directory: string, password: string): Promise<boolean> {
  const file = join(directory, CONFIGURATION_FILE)
  const port = Number(/^port (\d+)$/m.exec(await readFile(file, 'utf8').catch(() => ''))?.[1])
  if (!port) return false
  const redis = new Redis(redisUrl({ user: 'admin', password, port }), {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: REDIS_ANSWER_MS,
    commandTimeout: REDIS_ANSWER_MS,
  })
  redis.on('error', () => {})
  try {
    await redis.connect()
    const info = await redis.info('server')
    const pid = Number(/^process_id:(\d+)/m.exec(info)?.[1])
    if (/^config_file:(.*?)\r?$/m.exec(info)?.[1] !== file || !pid) return false
    await endProcess(pid, 'SIGTERM')
    return true
  } catch (error) {
    if (error instanceof Failure) throw error
    return false
  } finally {
    redis.disconnect()
  }
}

/** Returns the words of a process's command line; empty if there is no such process. */
async function commandOf(pid: number): Promise<string[]> {
  if (process.platform === 'linux')
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
  const { stdout } = await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }))
  return stdout.trim().split(' ')
}

async function endProcess(pid: number, signal: NodeJS.Signals): Promise<void> {
  const deadline = Date.now() + END_DEADLINE_MS
  let next: NodeJS.Signals | 0 = signal
  while (isAlive(pid, next)) {
    next = Date.now() > deadline ? 'SIGKILL' : 0
    if (Date.now() > deadline + END_DEADLINE_MS)
      throw new Failure(`Process ${pid}, left by an earlier stack, does not stop: end it by hand.`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** Sends `signal`; 0 only checks whether the process exists. */
function isAlive(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch {
    return false
  }
}
