import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { AUDITED, NOT_AUDITED } from '#shared/process/events.ts'
import { printedLevel, routeOutput } from '../../infra/local/service-output.ts'
import { sharedFolder } from '../support/folder.ts'

describe('the audit trail of the local stack', () => {
  const folder = sharedFolder()

  /** Where lines go that a service prints. */
  async function routed(name: string, lines: string[], auditFile = join(folder, name)) {
    const printed = new PassThrough()
    const output = new PassThrough()
    routeOutput(printed, { logLevel: 'warn', auditFile, output })
    printed.end(lines.map((line) => `${line}\n`).join(''))
    await once(printed, 'end')
    const trail = await readFile(auditFile, 'utf8').catch(() => '')
    return { trail: trail.split('\n').filter(Boolean), printed: String(output.read() ?? '') }
  }
  const writeLine = (event: string) => JSON.stringify({ level: 30, time: 1, event, msg: 'x' })

  it('keeps the audited events, and no others', async () => {
    const { trail, printed } = await routed('marked', [...AUDITED, ...NOT_AUDITED].map(writeLine))
    assert.deepEqual(trail, AUDITED.map(writeLine))
    assert.equal(printed, '')
  })

  it('does not take what a caller sent for an event', async () => {
    const line = JSON.stringify({ level: 30, time: 1, route: '"event":"token.issued"', msg: 'request' })
    assert.deepEqual((await routed('forged', [line])).trail, [])
  })

  it('writes to standard error when the file cannot be written', async () => {
    const { printed } = await routed(
      'none',
      [writeLine('client.revoked')],
      join(folder, 'missing/audit.ndjson'),
    )
    assert.equal(printed, `${writeLine('client.revoked')}\n`)
  })

  it('keeps every event at any log level', () => {
    for (const level of ['silent', 'error', 'warn', 'info']) assert.equal(printedLevel(level), 'info')
    assert.equal(printedLevel('trace'), 'trace')
  })

  it('puts a line together that a service prints in pieces, and takes a last one without an end', async () => {
    const [printed, output, auditFile] = [new PassThrough(), new PassThrough(), join(folder, 'pieces')]
    routeOutput(printed, { logLevel: 'warn', auditFile, output })
    const line = writeLine('client.revoked')
    printed.write(line.slice(0, 20))
    printed.write(`${line.slice(20)}\n`)
    printed.end('no line of a log')
    await once(printed, 'end')
    assert.equal(await readFile(auditFile, 'utf8'), `${line}\n`)
    assert.equal(String(output.read()), 'no line of a log\n')
  })

  it('keeps a character whose bytes arrive in two pieces', async () => {
    const [printed, auditFile] = [new PassThrough(), join(folder, 'characters')]
    routeOutput(printed, { logLevel: 'warn', auditFile, output: new PassThrough() })
    const line = JSON.stringify({ level: 30, time: 1, event: 'client.revoked', name: 'Zoë €', msg: 'x' })
    for (const byte of Buffer.from(`${line}\n`)) printed.write(Buffer.of(byte))
    printed.end()
    await once(printed, 'end')
    assert.equal(await readFile(auditFile, 'utf8'), `${line}\n`)
  })

  it('prints lines of exactly the wanted level', async () => {
    const warning = JSON.stringify({ level: 40, time: 1, msg: 'x' })
    assert.equal((await routed('level', [warning])).printed, `${warning}\n`)
  })

  it('keeps the audit trail from other users of the machine', async () => {
    await routed('closed', [writeLine('client.revoked')])
    assert.equal((await stat(join(folder, 'closed'))).mode & 0o777, 0o600)
  })
})
