import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** The most lines of a room. Whoever takes the product over has to read them. */
const LINES_MAX: Record<string, number> = {
  'apps/auth': 1_900,
  'apps/api': 14_900,
  'apps/workspace': 11_200,
  shared: 3_900,
  infra: 7_300,
  test: 53_600,
}

const linesIn = (file: string): number => readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1

describe('the weight of the rooms', () => {
  const files = globSync('{apps,shared,infra,test}/**/*.{ts,tsx,css,js,sql}', {
    cwd: ROOT,
    exclude: ['**/dist/**', 'apps/workspace/src/api/openapi.d.ts'],
  })

  for (const [room, max] of Object.entries(LINES_MAX))
    it(`keeps ${room} within ${max} lines`, () => {
      const lines = files
        .filter((file) => file.startsWith(`${room}/`))
        .reduce((sum, file) => sum + linesIn(file), 0)
      assert.ok(lines > max / 2, `${room} has only ${lines} lines: is the bound of another room?`)
      const rule = 'A bound goes up only in a commit of its own, which says what was tried instead.'
      assert.ok(lines <= max, `${room} has ${lines} lines, ${lines - max} too many. ${rule}`)
    })
})
