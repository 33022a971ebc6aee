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

  /** Where that goes which a service prints, piece by piece. */
  async function routed(name: string, pieces: (string | Buffer)[]) {
    const [printed, output, auditFile] = [new PassThrough(), new PassThrough(), join(folder, name)]
    routeOutput(printed, { logLevel: 'warn', auditFile, output })
    for (const piece of pieces) printed.write(piece)
    printed.end()
    await once(printed, 'end')
    return { trail: await readFile(auditFile, 'utf8').catch(() => ''), printed: String(output.read() ?? '') }
  }
  const line = (fields: object) => `${JSON.stringify({ level: 30, time: 1, ...fields, msg: 'x' })}\n`
  const lineOf = (event: string) => line({ event })
  const REVOKED = lineOf('client.revoked')

  it('keeps the audited events, and no others', async () => {
    const output = await routed('marked', [...AUDITED, ...NOT_AUDITED].map(lineOf))
    assert.deepEqual(output, { trail: AUDITED.map(lineOf).join(''), printed: '' })
  })

  it('does not take what a caller sent for an event', async () => {
    assert.equal((await routed('forged', [line({ route: '"event":"token.issued"' })])).trail, '')
  })

  it('writes to standard error when the file cannot be written', async () => {
    assert.equal((await routed('missing/audit.ndjson', [REVOKED])).printed, REVOKED)
  })

  it('keeps every event at any log level', () => {
    for (const level of ['silent', 'error', 'warn', 'info']) assert.equal(printedLevel(level), 'info')
    assert.equal(printedLevel('trace'), 'trace')
  })

  it('puts a line together that a service prints in pieces, and takes a last one without an end', async () => {
    const pieces = [REVOKED.slice(0, 20), REVOKED.slice(20), 'no line of a log']
    assert.deepEqual(await routed('pieces', pieces), { trail: REVOKED, printed: 'no line of a log\n' })
  })

  it('keeps a character whose bytes arrive in two pieces', async () => {
    const text = line({ event: 'client.revoked', name: 'Zoë €' })
    const bytes = [...Buffer.from(text)].map((byte) => Buffer.of(byte))
    assert.equal((await routed('characters', bytes)).trail, text)
  })

  it('prints lines of exactly the wanted level', async () => {
    const warning = line({ level: 40 })
    assert.equal((await routed('level', [warning])).printed, warning)
  })

  it('keeps the audit trail from other users of the machine', async () => {
    await routed('closed', [REVOKED])
    assert.equal((await stat(join(folder, 'closed'))).mode & 0o777, 0o600)
  })
})
