import assert from 'node:assert/strict'
import { find, read } from '../support/project.ts'

const WORDS = 'zero one two three four five six seven eight nine ten'.split(' ')

const literal = (text: string): string => text.replaceAll(/[^\w\s]/g, '\\$&')

/** Returns a constant, a product of numbers and of constants beside it, or the default of a setting. */
function constant(module: string, name: string): number {
  const definition = new RegExp(
    `\\b${name}(?: = |: rate\\('|: integer\\(.+, |: )([\\w *]+?)(?:,| \\}|$|/|\\))`,
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
      const written = new RegExp(`${literal(before)}(\\d[\\d,_]*|\\b[a-z]+)${literal(after)}`, 'g')
      const files = find(page?.includes('.') ? page : `apps/api/discovery/docs/pages/${page}.md`)
      assert.ok(files.length > 0, page)
      for (const file of files) {
        const found = [...read(file).matchAll(written)].map(([, one = '']) =>
          WORDS.includes(one)
            ? WORDS.indexOf(one)
            : /^an?$/.test(one)
              ? 1
              : Number(one.replaceAll(/[,_]/g, '')),
        )
        assert.deepEqual(new Set(found), new Set([figure]), file)
      }
    })

  it('are those of the code: the days before which mails say that a client expires', () => {
    const [, days = ''] =
      /DAYS_BEFORE = \[(.+)\]/.exec(read('apps/api/clients/notice-expiring-clients.ts')) ?? []
    const [first, ...others] = days.split(', ')
    const page = read('apps/api/discovery/docs/pages/rotation.md')
    assert.ok(page.includes(`${others.reverse().join(', ')} and ${first} days before`))
  })
})
