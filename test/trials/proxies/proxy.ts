import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstExecutable } from '../../../infra/local/child.ts'
import { Failure } from '../../../infra/local/failure.ts'
import { eventually } from '../../support/eventually.ts'

const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/local/bin']

/** Runs a proxy with this configuration; resolves once it listens on `port`. */
export async function startProxy(name: 'nginx' | 'haproxy', port: number, configuration: string) {
  const program = await firstExecutable(FOLDERS, [name])
  if (!program) throw new Failure(`${name} is not installed: apt-get install nginx haproxy`)
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await mkdtempDisposable(join(tmpdir(), 'integration-access-proxy-')))
  const logs = join(folder.path, 'logs')
  await mkdir(logs)
  const file = join(folder.path, 'proxy.conf')
  const whole = `daemon off;
pid ${folder.path}/pid;
error_log ${logs}/error.log;
events {}
http {
  access_log ${logs}/access.log;
${configuration}}
`
  await writeFile(file, name === 'nginx' ? whole : configuration)
  const args = name === 'nginx' ? ['-p', folder.path, '-c', file] : ['-f', file]
  const proxy = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = once(proxy, 'exit')
  starting.defer(async () => {
    proxy.kill('SIGTERM')
    await ended
  })
  await eventually(() => listens(port), { otherwise: () => `${name} does not listen` })
  const started = starting.move()
  return {
    /** Everything that it has logged. */
    async logs() {
      const names = await readdir(logs)
      return (await Promise.all(names.map((each) => readFile(join(logs, each), 'utf8')))).join('')
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => resolve(false))
    socket.on('connect', () => {
      resolve(true)
      socket.destroy()
    })
  })
