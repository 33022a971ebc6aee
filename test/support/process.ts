import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { serviceEnvironment } from '../../infra/service-environment.ts'
import { collectText } from './collect-text.ts'

export type ServiceChild = ReturnType<typeof startServiceChild>

/** Runs a service's main.ts as a process of its own, with an IPC channel, and this environment only. */
export function startServiceChild(main: string, env: Record<string, string>) {
  const path = join(import.meta.dirname, '../..', main)
  const child = fork(path, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { PATH: process.env.PATH, DRAIN_DELAY_S: '0', ...serviceEnvironment(), ...env },
  })
  const lines: Record<string, unknown>[] = []
  // Not by readline, which takes half a line of a killed process for a whole one.
  let partialLine = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    const parts = (partialLine + chunk).split('\n')
    partialLine = parts.pop() ?? ''
    for (const line of parts) lines.push(JSON.parse(line))
    child.emit('lines')
  })
  const stderr = collectText(child.stderr as Readable)
  // Not 'close': that event never comes when the parent has closed the IPC channel.
  const ends = [
    once(child, 'exit'),
    ...[child.stdout, child.stderr].map((stream) => stream && once(stream, 'close')),
  ]
  const exit = Promise.all(ends).then(() => ({ code: child.exitCode, signal: child.signalCode }))
  const kill = async () => {
    child.kill('SIGTERM')
    await exit
  }
  return {
    process: child,
    /** Log lines of standard output so far. */
    lines,
    stderr,
    exit,
    /** Resolves with the first line whose msg is this. @throws Error when the process ends before. */
    async logged(msg: string) {
      for (;;) {
        const match = lines.find((line) => line.msg === msg)
        if (match) return match
        const ended = await Promise.race([once(child, 'lines').then(() => false), exit.then(() => true)])
        if (ended) throw new Error(`the process ended without logging "${msg}": ${stderr()}`)
      }
    },
    kill,
    [Symbol.asyncDispose]: kill,
  }
}

/** Returns the option of Node, for NODE_OPTIONS, that runs this module before the program. */
export const preloading = (module: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(module)}`
