import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'

const OUTPUT_KEPT_CHARACTERS = 4_000

/** A process that this one started, in a session of its own so that Ctrl-C in the terminal does not reach it. */
export interface Child {
  readonly process: ChildProcess
  /** The end of what it has printed. */
  output(): string
  /** Sends `signal` and waits for the end; SIGKILL after `deadline_ms`. */
  stop(signal?: NodeJS.Signals, deadline_ms?: number): Promise<void>
}

export function startChild(command: string, args: string[], options: SpawnOptions = {}): Child {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...options })
  let output = ''
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-OUTPUT_KEPT_CHARACTERS)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  child.on('error', (error) => keep(Buffer.from(error.message)))
  return {
    process: child,
    output: () => output,
    async stop(signal = 'SIGTERM', deadline_ms = 10_000) {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
      const ended = once(child, 'exit')
      const timer = setTimeout(() => child.kill('SIGKILL'), deadline_ms)
      child.kill(signal)
      await ended
      clearTimeout(timer)
    },
  }
}
