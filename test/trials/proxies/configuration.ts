import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where a proxy listens, and its backends. */
export interface Installation {
  /** Instances as `host:port`. */
  auth: string[]
  api: string[]
  listen: string
  /** The built workspace: a folder for nginx, the `host:port` of its server for haproxy. */
  workspace: string
}

const shipped = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../../infra/deploy', name), 'utf8')

/** @throws if the shipped file has nothing of this kind. */
function replaced(text: string, pattern: RegExp, by: string): string {
  if (!pattern.test(text)) throw new Error(`the shipped file has no ${pattern}`)
  return text.replace(pattern, by)
}

/** Returns the shipped nginx.conf, with these addresses and without TLS. */
function nginx({ auth, api, listen, workspace }: Installation): string {
  let text = shipped('nginx.conf').replaceAll(/^ {2}ssl_.*\n/gm, '')
  for (const [i, instance] of [...auth, ...api].entries()) {
    const name = i < auth.length ? `auth-${i + 1}` : `api-${i - auth.length + 1}`
    text = replaced(text, new RegExp(`server ${name}:\\d+`), `server ${instance}`)
  }
  return placed(text, { listen, workspace })
}

/** Returns the shipped workspace.conf, with these addresses. */
export const workspaceConfiguration = (at: { listen: string; workspace: string }): string =>
  placed(shipped('workspace.conf'), at)

function placed(text: string, { listen, workspace }: { listen: string; workspace: string }): string {
  return replaced(replaced(text, /listen .*;/, `listen ${listen};`), /root .*;/, `root ${workspace};`)
}

/** Returns the shipped haproxy.cfg, with these addresses and without TLS. */
function haproxy({ auth, api, listen, workspace }: Installation): string {
  const servers = (name: string, instances: string[]) =>
    instances.map((instance, i) => `  server ${name}-${i + 1} ${instance}\n`).join('')
  let text = replaced(shipped('haproxy.cfg'), /bind .*/, `bind ${listen}`)
  text = replaced(text, /(?: {2}server auth-.*\n)+/, servers('auth', auth))
  text = replaced(text, /(?: {2}server api-.*\n)+/, servers('api', api))
  return replaced(text, /server workspace .*/, `server workspace ${workspace}`)
}

export const CONFIGURATIONS = { nginx, haproxy }
