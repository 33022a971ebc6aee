import assert from 'node:assert/strict'
import { readTime } from '../../infra/admin/time.ts'

describe('a time that an operator gives', () => {
  for (const [text, iso] of [
    ['2026-01-31T09:00:00.5+05:30', '2026-01-31T03:30:00.500Z'],
    ['2026-01-31 09:00:00+00', '2026-01-31T09:00:00.000Z'],
    ['2026-01-31 09:00:00.123456-08', '2026-01-31T17:00:00.123Z'],
    ['2026-01-31 09:00+0530', '2026-01-31T03:30:00.000Z'],
  ] as const)
    it(`is read from ${text}`, () => assert.equal(readTime(text).toISOString(), iso))

  for (const text of [
    '2026-01-31 09:00:00',
    '2026-01-31 09:00:00 UTC',
    '2026-11-31T09:00:00Z',
    '2026-01-31T25:00:00Z',
    '2026-01-31T09:00:00+25:00',
  ])
    it(`is not read from ${JSON.stringify(text)}`, () =>
      assert.throws(
        () => readTime(text),
        /^Error: The time given by --since must exist and have its offset: /,
      ))
})
