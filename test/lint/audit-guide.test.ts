import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { find, read } from '../support/project.ts'

/** How far the guide's figures may be off, so that not every change touches it. */
const TOLERANCE_LINES = 40

describe('the audit guide of the authorization server', () => {
  const guide = read('apps/auth/README.md')

  it(`gives the lines of each folder, within ${TOLERANCE_LINES}`, () => {
    const lines: Record<string, number> = {}
    for (const file of find('{apps/auth,shared/!(access-tokens|rules|look)}/**/*.ts'))
      lines[dirname(file)] = (lines[dirname(file)] ?? 0) + read(file).split('\n').length - 1
    const rows = [...guide.matchAll(/^\| `((?:apps|shared)\/[a-z]+)` \| ([\d,]+) \|/gm)]
    assert.deepEqual(rows.map(([, folder]) => folder).sort(), Object.keys(lines).sort())
    for (const [, folder = '', figure = ''] of rows)
      assert.ok(
        Math.abs(Number(figure.replace(',', '')) - (lines[folder] ?? 0)) <= TOLERANCE_LINES,
        `${folder}: ${lines[folder]} lines`,
      )
  })
})
