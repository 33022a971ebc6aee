import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstExecutable } from '../../../infra/local/child.ts'
import { Failure } from '../../../infra/local/failure.ts'
import { eventually } from '../../support/eventually.ts'

const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/local/bin']

export interface Proxy {
  /** Everything that it has logged. */
  logs(): Promise<string>
  stop(): Promise<void>
}

/** Runs a proxy with this configuration; resolves once it listens on `port`. */
export async function startProxy(
  name: 'nginx' | 'haproxy',
  port: number,
  configuration: string,
): Promise<Proxy> {
  const program = await firstExecutable(FOLDERS, [name])
  if (!program) throw new Failure(`${name} is not installed: apt-get install nginx haproxy`)
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-proxy-'))
  const logs = join(folder, 'logs')
  await mkdir(logs)
  const file = join(folder, 'proxy.conf')
  const whole = `daemon off;
pid ${folder}/pid;
error_log ${logs}/error.log;
events {}
http {
  access_log ${logs}/access.log;
${configuration}}
`
  await writeFile(file, name === 'nginx' ? whole : configuration)
  const args = name === 'nginx' ? ['-p', folder, '-c', file] : ['-f', file]
  const proxy: ChildProcess = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = once(proxy, 'exit')
  await eventually(() => listens(port), { otherwise: () => `${name} does not listen` })
  return {
    async logs() {
      const names = await readdir(logs)
      return (await Promise.all(names.map((each) => readFile(join(logs, each), 'utf8')))).join('')
    },
    async stop() {
      proxy.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true })
    },
  }
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
