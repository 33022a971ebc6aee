import assert from 'node:assert/strict'
import type { DatabaseState } from '../../apps/api/revocation/recent-revocations.ts'
import { checkDatabase, formatSeen, parseSeen } from '../../apps/api/revocation/restore-check.ts'

describe('whether the database may have forgotten revocations', () => {
  const complete: DatabaseState = {
    place: '7/16384/16500/00000001',
    confirmedPlace: '7/16384/16500/00000001',
    confirmedAt_ms: 1_000,
    fence: null,
    newest: 'cli_b',
    knowsSeen: true,
  }
  const seen = { of: '7/16384/16500', confirmedAt_ms: 1_000, id: 'cli_a' }
  const copied = { restored: 'the database is a copy, or was restored' }
  const forgotten = { restored: 'the database has forgotten the revocation of cli_a' }
  const older = { restored: 'Redis knows of a later confirmation of the database than the database itself' }
  const otherTimeline = '7/16384/16500/00000002'

  const cases: [string, database: Partial<DatabaseState>, seen: typeof seen | undefined, object | string][] =
    [
      ['the one that was confirmed', {}, seen, 'same'],
      ['the one that was confirmed, beside an empty Redis', {}, undefined, 'same'],
      ['one that never revoked anything', { newest: null }, { ...seen, id: '' }, 'same'],
      ['one that does not know what Redis does', { knowsSeen: false }, seen, forgotten],
      [
        'one that was confirmed as it is after Redis had seen more',
        { knowsSeen: false, confirmedAt_ms: 2_000 },
        seen,
        'same',
      ],
      ['one from before a confirmation', { confirmedAt_ms: 999 }, seen, older],
      [
        'one beside a Redis that served another database',
        { knowsSeen: false },
        { ...seen, of: '8/16384/16500', confirmedAt_ms: 2_000 },
        'same',
      ],
      ['a promoted standby', { place: otherTimeline }, seen, 'promoted'],
      ['another timeline, when nothing tells what it was', { place: otherTimeline }, undefined, copied],
      ['another timeline that has forgotten', { place: otherTimeline, knowsSeen: false }, seen, forgotten],
      ['another cluster', { place: '8/16384/16500/00000001' }, seen, copied],
      ['another database of the cluster', { place: '7/16999/16500/00000001' }, seen, copied],
      ['tables made anew', { place: '7/16384/17000/00000001' }, seen, copied],
      ['one behind a fence', { fence: 'an operator' }, seen, { restored: 'an operator' }],
    ]
  for (const [title, database, remembered, verdict] of cases)
    it(`judges ${title}`, () =>
      assert.deepEqual(checkDatabase({ ...complete, ...database }, remembered), verdict))

  it('reads from Redis what it wrote there', () => {
    assert.deepEqual(parseSeen(formatSeen(complete)), { ...seen, id: 'cli_b' })
    assert.deepEqual(parseSeen(formatSeen({ ...complete, newest: null })), { ...seen, id: '' })
    for (const other of ['', 'x', '1000', '1000 cli_a', '1000 a b', '1000 7/1/1 a b'])
      assert.equal(parseSeen(other), undefined)
  })
})
