import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const TITLE = /\b(?:it|describe)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g

/** The titles of the tests in a file, with `…` for what differs from case to case. */
function titlesOf(file: string): Set<string> {
  if (!existsSync(file)) return new Set()
  const titles = [...readFileSync(file, 'utf8').matchAll(TITLE)].map(([, , title = '']) => title)
  return new Set(titles.map((title) => title.replaceAll(/\$\{[^}]*\}/g, '…')))
}

describe('the tables of the RFCs', () => {
  for (const [document, folder] of [
    ['apps/auth/RFC.md', 'test/auth'],
    ['apps/api/RFC.md', 'test/api'],
  ] as const) {
    const rows = readFileSync(join(ROOT, document), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('|') && !line.startsWith('|-'))
      .map((line) => line.split(' | '))
      .filter(([section]) => section !== '| §')

    it(`${document} names only tests that exist`, () => {
      const known = new Map<string, Set<string>>()
      for (const [, requirement, shownBy = ''] of rows) {
        for (const [, name = '', title = ''] of shownBy.matchAll(/`([\w./-]+): ([^`]+)`/g)) {
          if (!known.has(name)) known.set(name, titlesOf(join(ROOT, folder, `${name}.test.ts`)))
          assert.ok(known.get(name)?.has(title), `${requirement}: ${name} has no test "${title}"`)
        }
      }
    })

    it(`${document} has a test or a reason for each requirement`, () => {
      assert.ok(rows.length > 30)
      for (const [, requirement, shownBy = ''] of rows)
        assert.match(shownBy, /^(`[\w./-]+: |\*\*No\*\*: )/, requirement)
    })
  }
})
