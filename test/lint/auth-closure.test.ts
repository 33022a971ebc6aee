import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const GUIDE = 'apps/auth/README.md'
/** A bound that only grows on purpose. */
const LINES_MAX = 4_600
const IMPORT = /(?:from|import) '((?:\.|#shared\/)[^']+)'|import\('((?:\.|#shared\/)[^']+)'\)/g

const read = (file: string) => readFile(join(ROOT, file), 'utf8')

/** Every file of the project that a program loads, by its imports. */
async function closureOf(file: string, found = new Map<string, string>()): Promise<Map<string, string>> {
  if (found.has(file)) return found
  const text = await read(file)
  found.set(file, text)
  for (const [, target = '', dynamic = ''] of text.matchAll(IMPORT)) {
    const specifier = target || dynamic
    const path = specifier.startsWith('#shared/')
      ? specifier.slice(1)
      : normalize(join(dirname(file), specifier))
    await closureOf(path, found)
  }
  return found
}

describe('what the authorization server is made of', () => {
  let files: Map<string, string>
  before(async () => {
    files = await closureOf('apps/auth/main.ts')
  })

  it('is its own folder and the modules of shared that its audit guide lists, no more and no fewer', async () => {
    const [, list = ''] = /<!-- shared: begin -->(.*?)<!-- shared: end -->/s.exec(await read(GUIDE)) ?? []
    const listed = [...list.matchAll(/`(shared\/[^`]+)`/g)].map(([, file]) => file)
    const loaded = [...files.keys()].filter((file) => !file.startsWith('apps/auth/'))
    assert.deepEqual(listed.sort(), loaded.sort())
  })

  it(`has at most ${LINES_MAX} lines`, () => {
    const lines = [...files.values()].map((text) => text.split('\n').length - 1)
    const total = lines.reduce((sum, count) => sum + count)
    assert.ok(total > 1_000 && total <= LINES_MAX, `${total} lines`)
  })
})
