import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TOKEN_MAX_MS } from '../../apps/api/revocation/restore-check.ts'
import { openLog, readLoggedEvidence } from '../../infra/admin/restore-log.ts'
import { sharedFolder } from '../support/folder.ts'

const NOW_MS = Date.parse('2026-11-20T12:00:00Z')
const HOUR_MS = 3_600_000
const SINCE_MS = NOW_MS - 2 * HOUR_MS

describe('the log of a service after a restore', () => {
  const folder = sharedFolder()

  async function evidenceOf(...lines: (object | string)[]) {
    const file = join(folder, 'services.log')
    await writeFile(
      file,
      lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
    )
    await using log = await openLog(file)
    return await readLoggedEvidence([log], { since: new Date(SINCE_MS), now_ms: NOW_MS })
  }

  it('proves which clients and keys were revoked from the moment on, and none before', async () => {
    const { clients, keys } = await evidenceOf(
      { time: SINCE_MS - 1, event: 'client.revoked', clientId: 'before' },
      { time: SINCE_MS, event: 'client.revoked', clientId: 'then' },
      { time: new Date(NOW_MS).toISOString(), event: 'client.revoked', clientId: 'later' },
      { time: SINCE_MS - 1, event: 'signing_key.revoked', kid: 'before' },
      { time: SINCE_MS, event: 'signing_key.revoked', kid: 'then' },
      { time: NOW_MS, event: 'client.renamed', clientId: 'another' },
    )
    assert.deepEqual([[...clients], [...keys]], [['then', 'later'], ['then']])
  })

  it('proves which tokens were revoked that may still be valid', async () => {
    const { tokens } = await evidenceOf(
      { time: NOW_MS - TOKEN_MAX_MS, event: 'token.revoked', jti: 'over' },
      { time: NOW_MS - TOKEN_MAX_MS + 1, event: 'token.revoked', jti: 'valid' },
    )
    assert.deepEqual([...tokens], ['valid'])
  })

  it('proves who was erased from the moment on, and takes nothing for an id that is none', async () => {
    const act = { time: NOW_MS, event: 'activity', action: 'person.erased' }
    const { erased } = await evidenceOf(
      { ...act, subject: 'usr_before', time: SINCE_MS - 1 },
      { ...act, subject: 'usr_kim' },
      { ...act, action: 'company.erased', subject: 'ven_acme' },
      { ...act, action: 'person.changed', subject: 'usr_lee' },
      { ...act, subject: 'ven_acme' },
      { ...act, subject: 'usr_x; rm' },
      { ...act },
    )
    assert.deepEqual([...erased], ['usr_kim', 'ven_acme'])
  })

  it('begins with its first line and ends with its last, in whatever order, also before the moment', async () => {
    const times = [SINCE_MS + 1, NOW_MS, SINCE_MS - HOUR_MS, NOW_MS - 1]
    const { from, to } = await evidenceOf(...times.map((time) => ({ time })))
    assert.deepEqual([from?.getTime(), to?.getTime()], [SINCE_MS - HOUR_MS, NOW_MS])
    assert.deepEqual([(await evidenceOf('')).from, (await evidenceOf('')).to], [undefined, undefined])
  })

  it('lists the changes that people made', async () => {
    const change = { action: 'callback.saved', subject: 'hooks.acme.com' }
    const line = { time: NOW_MS, event: 'activity', ...change }
    const by = { vendorId: 'ven_a', userId: 'usr_a' }
    const { changes } = await evidenceOf(
      { ...line, ...by },
      { ...line, ...by, time: SINCE_MS - 1 },
      { ...line, ...by, event: 'another' },
      { ...line, vendorId: 'ven_a' },
    )
    assert.deepEqual(changes, [{ at: new Date(NOW_MS), ...by, ...change }])
  })

  it('counts lines that prove nothing because they are not readable', async () => {
    const unreadable = ['no JSON', '{"half', { event: 'client.revoked', clientId: 'without a time' }, 'null']
    const evidence = await evidenceOf(...unreadable, { time: NOW_MS })
    assert.deepEqual([evidence.unreadable, evidence.clients.size], [4, 0])
  })
})
