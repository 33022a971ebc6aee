import assert from 'node:assert/strict'
import { read } from '../support/project.ts'

const WORDS = 'zero one two three four five six seven eight nine ten'.split(' ')

/** Returns a constant, a product of numbers and of constants beside it, or the default of a setting. */
function constant(module: string, name: string): number {
  const definition = new RegExp(
    `\\b${name}(?: = |: rate\\('|: integer\\(.+, |: )([\\w *]+)(?:,?$|/|\\))`,
    'm',
  )
  const [, product = ''] = definition.exec(read(`${module}.ts`)) ?? assert.fail(name)
  const toNumber = (text: string) =>
    /^\d/.test(text) ? Number(text.replaceAll('_', '')) : constant(module, text)
  return product.split(' * ').reduce((total, each) => total * toNumber(each), 1)
}

/** Each line of figures.txt quotes a document, with a constant in place of a figure. */
describe('the figures in the documents', () => {
  for (const line of read('test/docs/figures.txt').trim().split('\n'))
    it(`are those of the code: ${line}`, () => {
      const [page, quoted = ''] = line.split(/: (.*)/)
      const [, before = '', module = '', name = '', divisor = '1', more = '0', after = ''] =
        /^(.*)\{(\S+) (\w+)(?: \/ (\d+))?(?: \+ (\d+))?\}(.*)$/.exec(quoted) ?? assert.fail()
      const figure = constant(module, name) / Number(divisor) + Number(more)
      const quotes = [figure.toLocaleString('en'), WORDS[figure]].map((one) => `${before}${one}${after}`)
      const text = read(page?.includes('.') ? page : `apps/api/discovery/docs/pages/${page}.md`)
      assert.equal(quotes.filter((each) => text.includes(each)).length, 1, quotes[0])
    })
})
