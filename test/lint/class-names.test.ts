import assert from 'node:assert/strict'
import { find, read } from '../support/project.ts'

/** What CSS writes, but for an empty text. */
const WRITTEN = /(?<![\w-])content(?:-\[(?!'')[^\]]*\]|-\([^)]*\)|:(?!\s*(?:""|''|none))[^;]+;)/g

describe('the class names of the workspace', () => {
  it('write no words, commas or spaces, which no test of a sentence would see', () => {
    const files = find('{apps/workspace/src/**/*.{tsx,css},{shared,apps/api}/**/*.css}')
    const words = files.flatMap((file) =>
      [...read(file).matchAll(WRITTEN)].map(([text]) => `${file}: ${text}`),
    )
    assert.deepEqual(words, [])
    const source = `before:content-[',_'] content-(--comma) content: attr(x); content: ", "; content: "";`
    assert.equal([...source.matchAll(WRITTEN)].length, 4)
  })
})
