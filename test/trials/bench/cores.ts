import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const cores = availableParallelism()
const pinnable = cores > 1
/** The measured server has one core to itself, and the generator another, on which the stores run too. */
const CORES = { server: '0', generator: '1', stores: cores > 2 ? `2-${cores - 1}` : '1' }
type Place = keyof typeof CORES

/** The command, bound to the cores of its place where the machine has them. */
export const onCore = (place: Place, command: string[]): string[] =>
  pinnable ? ['taskset', '-c', CORES[place], ...command] : command

/** Binds this process and those that it starts from now on, unless they are bound elsewhere. */
export function moveTo(place: Place): void {
  if (pinnable)
    execFileSync('taskset', ['-a', '-c', '-p', CORES[place], String(process.pid)], { stdio: 'ignore' })
}

const TICKS_PER_SECOND = 100

/** Returns the CPU seconds of a process and of its children that have ended (proc(5), /proc/pid/stat). */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / TICKS_PER_SECOND
}

/**
 * Returns the CPU seconds that all processes have used of the server's core (proc(5), /proc/stat), without
 * interrupts, most of which are the server's own packets.
 */
function coreSeconds(): number {
  const [line = ''] = /(?<=^cpu0 ).*/m.exec(readFileSync('/proc/stat', 'utf8')) ?? []
  const [user = 0, nice = 0, system = 0, _idle, _iowait, _irq, _softirq, steal = 0] = line
    .split(' ')
    .map(Number)
  return (user + nice + system + steal) / TICKS_PER_SECOND
}

/**
 * Starts to watch a server. Returns a function that ends this and returns the CPU seconds that the server
 * used, and the share of its core that others used: 0 where it has no core of its own.
 */
export function watchServer(pid: number): (seconds: number) => { cpu: number; others: number } {
  const before = { own: cpuSeconds(pid), all: coreSeconds() }
  return (seconds) => {
    const cpu = cpuSeconds(pid) - before.own
    const others = Math.max(0, (coreSeconds() - before.all - cpu) / seconds)
    return { cpu, others: pinnable ? others : 0 }
  }
}

/** Resident memory of a process. */
export function residentMib(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1_024
}
