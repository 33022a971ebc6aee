import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
/** What CSS writes, but for an empty text. */
const WRITTEN = /(?<![\w-])content(?:-\[(?!'')[^\]]*\]|-\([^)]*\)|:(?!\s*(?:""|''|none))[^;]+;)/g

describe('the class names of the workspace', () => {
  it('write no words, commas or spaces, which no test of a sentence would see', () => {
    const files = globSync('{apps/workspace/src/**/*.{tsx,css},{shared,apps/api}/**/*.css}', { cwd: ROOT })
    const words = files.flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(WRITTEN)].map(([text]) => `${file}: ${text}`),
    )
    assert.deepEqual(words, [])
    const source = `before:content-[',_'] content-(--comma) content: attr(x); content: ", "; content: "";`
    assert.equal([...source.matchAll(WRITTEN)].length, 4)
  })
})
