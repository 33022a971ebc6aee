import assert from 'node:assert/strict'
import { find, read } from '../support/project.ts'

const MAX_CHARACTERS = 110
const FOLDERS = ['apps', 'infra', 'shared', 'test']

const COMMENT = /^\s*(?:\/\/|\{?\/\*|\*|--)/
/** A word that cannot be wrapped, such as an address. */
const LONG_WORD = /\S{80}/
/** What the formatter leaves as it is: a string, a template or a regular expression that ends on its line. */
const LITERALS = /'[^']*'|"[^"]*"|`[^`]*`|\/(?![*/ ])(?:\\.|[^\\/])+\/[a-z]*/g

/**
 * Returns the numbers of the lines that are too long. A comment may be longer for a word that cannot be
 * wrapped, and code for its literals. SQL and text in a template of several lines can be wrapped.
 */
function longLines(text: string): number[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.length <= MAX_CHARACTERS) return []
    const fits = COMMENT.test(line)
      ? LONG_WORD.test(line)
      : line.replace(LITERALS, '').length <= MAX_CHARACTERS
    return fits ? [] : [index + 1]
  })
}

describe('the length of lines', () => {
  for (const folder of FOLDERS)
    it(`is at most ${MAX_CHARACTERS} in ${folder}, comments included`, () => {
      const files = find(`${folder}/**/*.{ts,tsx,css,js,sql}`)
      assert.ok(files.length > 20, `only ${files.length} files`)
      const long = files.flatMap((file) => longLines(read(file)).map((line) => `${file}:${line}`))
      assert.deepEqual(long, [])
    })
})
