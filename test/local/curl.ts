import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onPath } from '../../infra/local/child.ts'
import { run } from '../support/program.ts'

/** Replaces curl on a machine without it, with the options that the card uses and no other. */
const SUBSTITUTE = `#!${process.execPath}
const [headers, form] = [new Headers(), []]
const args = process.argv.slice(2)
let target = ''
while (args.length > 0) {
  const arg = args.shift()
  if (arg === '-sS') continue
  else if (arg === '-H') headers.append(...args.shift().split(/: (.*)/s).slice(0, 2))
  else if (arg === '-d') form.push(args.shift())
  else if (arg === '-u') headers.append('Authorization', 'Basic ' + btoa(args.shift()))
  else if (arg.startsWith('-')) throw new Error('unknown option ' + arg)
  else target = arg
}
if (form.length > 0) headers.set('content-type', 'application/x-www-form-urlencoded')
const request = form.length > 0 ? { method: 'POST', headers, body: form.join('&') } : { headers }
fetch(target, request).then(async (response) => process.stdout.write(await response.text()))
`

/** Returns the card's curl commands, ready to paste, or an empty text. */
export const curlPair = (output: string): string =>
  /^ +set -a[\s\S]*?issued}"$/m.exec(output.replaceAll('\r', ''))?.[0] ?? ''

/** Runs lines of shell that use curl in a folder of their own. Returns their output. */
export async function shellWithCurl(lines: string): Promise<string> {
  await using bin = await mkdtempDisposable(join(tmpdir(), 'integration-access-curl-'))
  if (!(await onPath('curl'))) await writeFile(join(bin.path, 'curl'), SUBSTITUTE, { mode: 0o700 })
  const env = { ...process.env, PATH: `${bin.path}:${process.env.PATH}` }
  return (await run('sh', ['-ec', lines], { cwd: bin.path, env })).stdout
}
