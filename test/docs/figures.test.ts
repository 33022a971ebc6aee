import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const WORDS = 'zero one two three four five six seven eight nine ten'.split(' ')

/** Returns a constant of a module: a number, or a product or quotient of numbers and of constants beside it. */
function constant(module: string, name: string): number {
  const source = read(`${module}.ts`)
  const [, value] = new RegExp(`\\bconst ${name} = ([\\w */]+)$`, 'm').exec(source) ?? []
  const [first = '', ...rest] = value?.split(' ') ?? assert.fail(`${module}.ts has no number ${name}`)
  const toNumber = (text: string) =>
    /^\d/.test(text) ? Number(text.replaceAll('_', '')) : constant(module, text)
  return rest.reduce((total, text, i) => {
    if (i % 2 === 0) return total
    return rest[i - 1] === '/' ? total / toNumber(text) : total * toNumber(text)
  }, toNumber(first))
}

/** In figures.txt, each line names a page of /docs or another document, and quotes it with a constant of a module in place of a figure. */
describe('the figures in the documents', () => {
  for (const line of read('test/docs/figures.txt').trim().split('\n'))
    it(`are those of the code: ${line}`, () => {
      const [page, quoted = ''] = line.split(/: (.*)/)
      const [, before = '', module = '', name = '', divisor = '1', more = '0', after = ''] =
        /^(.*)\{(\S+) (\w+)(?: \/ (\d+))?(?: \+ (\d+))?\}(.*)$/.exec(quoted) ?? assert.fail()
      const figure = constant(module, name) / Number(divisor) + Number(more)
      const spelled = [figure.toLocaleString('en'), WORDS[figure] ?? figure]
      const text = read(page?.endsWith('.md') ? page : `apps/api/discovery/docs/pages/${page}.md`)
      assert.ok(
        spelled.some((one) => text.includes(`${before}${one}${after}`)),
        `${spelled}`,
      )
    })
})
