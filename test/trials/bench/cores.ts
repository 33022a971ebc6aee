import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** The server that is measured has a core to itself, the generator another; with two cores the stores share that. */
export type Place = 'server' | 'generator' | 'stores'

const cores = availableParallelism()
const pinnable = cores > 1 && canRun('taskset')
/** The core that servers are bound to; undefined where they cannot be. */
export const serverCore = pinnable ? 0 : undefined

const CORES: Record<Place, string> = {
  server: '0',
  generator: '1',
  stores: cores > 2 ? `2-${cores - 1}` : '1',
}

/** The command, bound to the cores of its place where the machine can do that. */
export function onCore(place: Place, command: string[]): string[] {
  return pinnable ? ['taskset', '-c', CORES[place], ...command] : command
}

/** Binds the thread that starts processes, and with it what it starts from now on and does not bind elsewhere. */
export function moveTo(place: Place): void {
  if (pinnable) execFileSync('taskset', ['-c', '-p', CORES[place], String(process.pid)], { stdio: 'ignore' })
}

const TICKS_PER_SECOND = 100

/** CPU seconds that the processes have used so far, user and system (proc(5), /proc/pid/stat). */
export function cpuSeconds(pids: number[]): number {
  let ticks = 0
  for (const pid of pids) {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    ticks += Number(fields[11]) + Number(fields[12])
  }
  return ticks / TICKS_PER_SECOND
}

/**
 * CPU seconds that everyone together has used of a core so far (proc(5), /proc/stat). Interrupts are left out: most
 * of them are the packets of the server itself.
 */
export function coreSeconds(core: number): number {
  const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? ''
  const [user = 0, nice = 0, system = 0, _idle, _iowait, _irq, _softirq, steal = 0] = line
    .split(' ')
    .map(Number)
  return (user + nice + system + steal) / TICKS_PER_SECOND
}

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(match?.[1]) * 1_024
}

function canRun(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
