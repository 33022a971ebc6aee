import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const MAX_CHARACTERS = 160
/** What a reader sees between two quotes of a line, without what is put into it. */
const STRING = /'([^'\n]*)'|"([^"\n]*)"|`([^`]*)`/g
/** A word of a class: a sentence has few with a hyphen, a colon or a bracket in them. */
const CLASS = /[a-z\]][-:[(]/

/** What CSS writes, but for an empty text. */
const WRITTEN = /(?<![\w-])content(?:-\[(?!'')[^\]]*\]|-\([^)]*\)|:(?!\s*(?:""|''|none))[^;]+;)/g

/** Returns the class strings of a source text that are longer than one can take in. */
function longClasses(text: string): string[] {
  return [...text.matchAll(STRING)]
    .map(([, single, double, template]) => (single ?? double ?? template ?? '').replace(/\$\{[^}]*\}/g, ''))
    .filter((string) => string.length > MAX_CHARACTERS)
    .filter((string) => {
      const words = string.trim().split(/\s+/)
      return words.filter((word) => CLASS.test(word)).length > words.length / 2
    })
}

describe('the class names of the workspace', () => {
  it(`keep class names in strings of at most ${MAX_CHARACTERS} characters`, () => {
    const files = globSync('apps/workspace/src/**/*.tsx', { cwd: ROOT })
    assert.ok(files.length > 50, `only ${files.length} files`)
    const long = files.flatMap((file) =>
      longClasses(readFileSync(join(ROOT, file), 'utf8')).map((string) => `${file}: ${string}`),
    )
    assert.deepEqual(long, [])
  })

  it('write no words, commas or spaces, which no test of a sentence would see', () => {
    const files = globSync('{apps/workspace/src/**/*.{tsx,css},{shared,apps/api}/**/*.css}', { cwd: ROOT })
    const words = files.flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(WRITTEN)].map(([text]) => `${file}: ${text}`),
    )
    assert.deepEqual(words, [])
    const source = `before:content-[',_'] content-(--comma) content: attr(x); content: ", "; content: "";`
    assert.equal([...source.matchAll(WRITTEN)].length, 4)
  })

  it('tell class names from sentences and drawings', () => {
    const classes = 'flex max-desk:hidden [&>svg]:-ms-1 '.repeat(5)
    const sentence =
      'A well-known sentence about a client that is as long as a paragraph of a letter. '.repeat(3)
    const drawing = 'M7.500 9.500a2.800 2.800 0 1 0 0-5.600 2.800 2.800 0 0 0 0 5.600z'.repeat(3)
    const source = `<a className="${classes}" title='${sentence}' d="${drawing}" /> \`\${one} ${classes}\``
    assert.equal(longClasses(source).length, 2)
  })
})
