import assert from 'node:assert/strict'
import { find, read } from '../support/project.ts'

/**
 * The most lines of a room, since whoever takes the product over has to read them: about 3 % above what was
 * there when the bounds were set. A bound equal to the count would be met by longer lines, not by less code.
 */
const LINES_MAX: Record<string, number> = {
  'apps/auth': 2_030,
  'apps/api': 18_380,
  'apps/workspace': 11_260,
  shared: 3_910,
  infra: 7_990,
  test: 48_500,
}
const TEST_HELP_LINES_MAX = 8_500
/** What an audit of the authorization server reads: apps/auth/README.md has it by folder. */
const AUDIT = /^(?:apps\/auth|shared\/(?!access-tokens|rules|look)[a-z]+)\//
const AUDIT_LINES_MAX = 4_770

const linesIn = (file: string): number => read(file).split('\n').length - 1

describe('the weight of the rooms', () => {
  const files = find('{apps,shared,infra,test}/**/*.{ts,tsx,css,js,sql}')

  function checkWeight(name: string, isCounted: (file: string) => boolean, max: number): void {
    const lines = files.filter(isCounted).reduce((sum, file) => sum + linesIn(file), 0)
    assert.ok(lines > max / 2, `${name} has only ${lines} lines: is the bound of another room?`)
    const rule = 'A bound goes up only in a commit of its own, which says what was tried instead.'
    assert.ok(lines <= max, `${name} has ${lines} lines, ${lines - max} too many. ${rule}`)
  }

  for (const [room, max] of Object.entries(LINES_MAX))
    it(`keeps ${room} within ${max} lines`, () => {
      checkWeight(room, (file) => file.startsWith(`${room}/`), max)
    })

  it(`keeps what tests share, and the trials, within ${TEST_HELP_LINES_MAX} lines`, () => {
    checkWeight('support and trials', (file) => /^test\/(?:support|trials)\//.test(file), TEST_HELP_LINES_MAX)
  })

  it(`keeps the audit of the authorization server within ${AUDIT_LINES_MAX} lines`, () => {
    checkWeight('the audit', (file) => AUDIT.test(file), AUDIT_LINES_MAX)
  })
})
