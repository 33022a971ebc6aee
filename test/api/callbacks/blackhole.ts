import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { startChild } from '../../../infra/local/child.ts'

const FULL_AFTER_MS = 500

/** A loopback port that answers nothing until resumed: its process is stopped, and its backlog full. */
export async function startBlackhole(): Promise<{ port: number; resume(): void; stop(): Promise<void> }> {
  const program = `const s = require('node:net').createServer(() => {})
    s.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(s.address().port))`
  const child = startChild(process.execPath, ['-e', program])
  const [port] = (await once(child.process.stdout as Readable, 'data')).map(Number) as [number]
  child.process.kill('SIGSTOP')
  const fillers: Socket[] = []
  while (await connects(port, fillers))
    if (fillers.length > 1_000) throw new Error('the backlog does not fill')
  return {
    port,
    resume: () => void child.process.kill('SIGCONT'),
    async stop() {
      for (const filler of fillers) filler.destroy()
      await child.stop('SIGKILL')
    },
  }
}

async function connects(port: number, fillers: Socket[]): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  fillers.push(socket)
  const timer = new Promise<boolean>((resolve) => setTimeout(resolve, FULL_AFTER_MS, false))
  return Promise.race([once(socket, 'connect').then(() => true), timer])
}
