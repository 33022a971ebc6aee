import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readInfra } from '../../support/deployment.ts'
import { startProgram } from '../program.ts'

/** Where nginx listens, and what it serves. */
export interface Installation {
  port: number
  /** Instances as `host:port`. */
  auth: string[]
  api: string[]
  /** The folder of the built workspace. */
  workspace: string
}

/** Runs nginx with the shipped file, but with these addresses and without TLS. Resolves once it listens. */
export async function startNginx({ port, auth, api, workspace }: Installation) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await mkdtempDisposable(join(tmpdir(), 'integration-access-proxy-')))
  const logs = join(folder.path, 'logs')
  await mkdir(logs)
  const configuration = readInfra('deploy/nginx.conf')
    .replaceAll(/\bauth-(\d):\d+/g, (shipped, number) => auth[number - 1] ?? shipped)
    .replaceAll(/\bapi-(\d):\d+/g, (shipped, number) => api[number - 1] ?? shipped)
    .replaceAll(/^ {2}ssl_.*\n/gm, '')
    .replace(/listen [^;]+/, `listen 127.0.0.1:${port}`)
    .replace(/root .*;/, `root ${workspace};`)
  const missed = [...auth, ...api, `:${port}`, workspace].filter(
    (address) => !configuration.includes(address),
  )
  if (missed.length > 0) throw new Error(`nginx.conf has no place for ${missed.join(', ')}`)
  const whole = `daemon off;
pid ${folder.path}/pid;
error_log ${logs}/error.log;
events {}
http {
  access_log ${logs}/access.log;
${configuration}}
`
  const file = join(folder.path, 'nginx.conf')
  await writeFile(file, whole)
  const program = starting.use(await startProgram('nginx', ['-p', folder.path, '-c', file], port))
  const started = starting.move()
  return {
    /** Everything that it has logged. */
    async logs() {
      const texts = await Promise.all((await readdir(logs)).map((name) => readFile(join(logs, name), 'utf8')))
      return [program.output(), ...texts].join('')
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}
