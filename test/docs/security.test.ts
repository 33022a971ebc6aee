import assert from 'node:assert/strict'
import { readInfra } from '../support/deployment.ts'
import { assertNamedTests } from './named-tests.ts'

/** Requirements of levels 1 and 2 in each section of ASVS 5.0.0, by chapter. */
const CHAPTERS =
  `2 9 11 3 2 | 3 3 4 1 | 0 2 4 6 5 0 2 | 3 1 2 4 | 1 3 2 3 | 3 12 4 4 5 3 0 4 | 3 4 2 5 2 2 | 2 3 1 1
  | 3 4 | 2 2 4 11 5 2 3 | 2 3 3 4 1 1 | 3 2 4 | 1 5 2 5 | 2 4 3 | 3 3 7 | 1 5 4 3 3 | 1 4 2`
    .split('|')
    .map((sections) => sections.trim().split(' ').map(Number))
const REQUIREMENTS = CHAPTERS.flatMap((sections, chapter) =>
  sections.flatMap((count, section) =>
    Array.from({ length: count }, (_, i) => `${chapter + 1}.${section + 1}.${i + 1}`),
  ),
)

const parseRows = (document: string): string[][] =>
  readInfra(`security/${document}`)
    .split('\n')
    .filter((line) => /^\| [^-]/.test(line))
    .map((line) => line.slice(2, -2).split(' | '))

/** The numbers that `1.2.6 to 1.2.8, 1.3.1` names. */
const numbersIn = (cell: string): string[] =>
  cell.split(', ').flatMap((part) => {
    const [first = '', last = first] = part.split(' to ')
    const [from, to] = [REQUIREMENTS.indexOf(first), REQUIREMENTS.indexOf(last)]
    assert.ok(from >= 0 && to >= from, `${part} is no requirement`)
    return REQUIREMENTS.slice(from, to + 1)
  })

describe('the documents for a security team', () => {
  it('give each requirement of ASVS 5.0 up to level 2 a row with a test or a reason', () => {
    const rows = parseRows('asvs.md').filter(([number]) => number !== 'no.')
    assert.deepEqual(rows.flatMap(([cell = '']) => numbersIn(cell)).toSorted(), REQUIREMENTS.toSorted())
    for (const [number, , shownBy = ''] of rows)
      assert.match(shownBy, /^(`[\w./-]+: |\*\*(Document|By reading|Operator|No|None here)\*\*)/, number)
  })

  for (const document of ['asvs.md', 'threat-model.md', 'questionnaire.md'])
    it(`name only tests that exist in ${document}`, () => {
      const rows = parseRows(document)
      assert.ok(rows.length > 20)
      for (const cells of rows)
        assertNamedTests(cells.join(' '), { folder: 'test', requirement: cells[0] ?? '' })
    })
})
