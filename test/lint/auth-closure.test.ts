import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { closureOf } from '../support/closure.ts'

const ROOT = join(import.meta.dirname, '../..')
const GUIDE = 'apps/auth/README.md'
/** Bounds that only grow on purpose: what an audit reads closely, and all. */
const DECIDES_LINES_MAX = 3_000
const LINES_MAX = 4_650
const DECIDES = ['apps/auth', 'shared/oauth', 'shared/revocation']
/** How far the guide's figures may be off, so that not every change touches it. */
const TOLERANCE = 40

const read = (file: string) => readFile(join(ROOT, file), 'utf8')

describe('what the authorization server is made of', () => {
  let files: Map<string, string>
  before(async () => {
    files = await closureOf('apps/auth/main.ts')
  })

  it('loads its own folder and the modules of shared that its audit guide lists, no more and no fewer', async () => {
    const [, list = ''] = /<!-- shared: begin -->(.*?)<!-- shared: end -->/s.exec(await read(GUIDE)) ?? []
    const listed = [...list.matchAll(/`(shared\/[^`]+)`/g)].map(([, file]) => file)
    const loaded = [...files.keys()].filter((file) => !file.startsWith('apps/auth/'))
    assert.deepEqual(listed.sort(), loaded.sort())
  })

  const linesOf = (text: string): number => text.split('\n').length - 1
  const linesIn = (folder: string): number =>
    [...files].reduce((sum, [file, text]) => sum + (dirname(file) === folder ? linesOf(text) : 0), 0)

  it(`has at most ${DECIDES_LINES_MAX} lines that decide, and ${LINES_MAX} in all`, () => {
    const deciding = DECIDES.reduce((sum, folder) => sum + linesIn(folder), 0)
    assert.ok(deciding > 1_000 && deciding <= DECIDES_LINES_MAX, `${deciding} lines decide`)
    const total = [...files.values()].reduce((sum, text) => sum + linesOf(text), 0)
    assert.ok(total > deciding && total <= LINES_MAX, `${total} lines`)
  })

  it('has in each folder about as many lines as the guide says, and the part in it that the guide says', async () => {
    const [, table = ''] = /<!-- size: begin -->(.*?)<!-- size: end -->/s.exec(await read(GUIDE)) ?? []
    const rows = [...table.matchAll(/^\| `(\S+)` \| ([\d,]+) \| (decides|carries) \|/gm)]
    const folders = new Set([...files.keys()].map(dirname))
    assert.deepEqual(rows.map(([, folder]) => folder).sort(), [...folders].sort())
    for (const [, folder = '', said = '', part] of rows) {
      const lines = linesIn(folder)
      assert.ok(Math.abs(Number(said.replace(',', '')) - lines) <= TOLERANCE, `${folder}: ${lines} lines`)
      assert.equal(part, DECIDES.includes(folder) ? 'decides' : 'carries', folder)
    }
  })
})
