import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../program.ts'

const DEPLOY = join(import.meta.dirname, '../../../infra/deploy')

/** Where a proxy listens, and its backends. */
export interface Installation {
  port: number
  /** Instances as `host:port`. */
  auth: string[]
  api: string[]
  /** The built workspace: a folder for nginx, the `host:port` of its server for haproxy. */
  workspace: string
}

/** Runs a proxy with this shipped file, with these addresses and without TLS; resolves once it listens. */
export async function startProxy(
  file: 'nginx.conf' | 'workspace.conf' | 'haproxy.cfg',
  { port, auth, api, workspace }: Installation,
) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await mkdtempDisposable(join(tmpdir(), 'integration-access-proxy-')))
  const logs = join(folder.path, 'logs')
  await mkdir(logs)
  const configuration = (await readFile(join(DEPLOY, file), 'utf8'))
    .replaceAll(/\bauth-(\d):\d+/g, (shipped, number) => auth[number - 1] ?? shipped)
    .replaceAll(/\bapi-(\d):\d+/g, (shipped, number) => api[number - 1] ?? shipped)
    .replaceAll(/^ {2}ssl_.*\n/gm, '')
    .replace(/(listen|bind) [^;\n]+/, `$1 127.0.0.1:${port}`)
    .replace(/root .*;/, `root ${workspace};`)
    .replace('workspace:8083', workspace)
  const missed = [...auth, ...api, `:${port}`, workspace].filter(
    (address) => !configuration.includes(address),
  )
  if (missed.length > 0) throw new Error(`${file} has no place for ${missed.join(', ')}`)
  const whole = `daemon off;
pid ${folder.path}/pid;
error_log ${logs}/error.log;
events {}
http {
  access_log ${logs}/access.log;
${configuration}}
`
  const isNginx = file !== 'haproxy.cfg'
  const own = join(folder.path, file)
  await writeFile(own, isNginx ? whole : configuration)
  const program = starting.use(
    isNginx
      ? await startProgram('nginx', ['-p', folder.path, '-c', own], port)
      : await startProgram('haproxy', ['-f', own], port),
  )
  const started = starting.move()
  return {
    /** Everything that it has logged. */
    async logs() {
      const names = await readdir(logs)
      const texts = await Promise.all(names.map((each) => readFile(join(logs, each), 'utf8')))
      return [program.output(), ...texts].join('')
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}
