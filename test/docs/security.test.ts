import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertNamedTests } from '../support/named-tests.ts'

const FOLDER = join(import.meta.dirname, '../../infra/security')
/** How many requirements of levels 1 and 2 each section of ASVS 5.0.0 has. */
const SECTIONS: Record<string, number> = {
  '1.1': 2,
  '1.2': 9,
  '1.3': 11,
  '1.4': 3,
  '1.5': 2,
  '2.1': 3,
  '2.2': 3,
  '2.3': 4,
  '2.4': 1,
  '3.2': 2,
  '3.3': 4,
  '3.4': 6,
  '3.5': 5,
  '3.7': 2,
  '4.1': 3,
  '4.2': 1,
  '4.3': 2,
  '4.4': 4,
  '5.1': 1,
  '5.2': 3,
  '5.3': 2,
  '5.4': 3,
  '6.1': 3,
  '6.2': 12,
  '6.3': 4,
  '6.4': 4,
  '6.5': 5,
  '6.6': 3,
  '6.8': 4,
  '7.1': 3,
  '7.2': 4,
  '7.3': 2,
  '7.4': 5,
  '7.5': 2,
  '7.6': 2,
  '8.1': 2,
  '8.2': 3,
  '8.3': 1,
  '8.4': 1,
  '9.1': 3,
  '9.2': 4,
  '10.1': 2,
  '10.2': 2,
  '10.3': 4,
  '10.4': 11,
  '10.5': 5,
  '10.6': 2,
  '10.7': 3,
  '11.1': 2,
  '11.2': 3,
  '11.3': 3,
  '11.4': 4,
  '11.5': 1,
  '11.6': 1,
  '12.1': 3,
  '12.2': 2,
  '12.3': 4,
  '13.1': 1,
  '13.2': 5,
  '13.3': 2,
  '13.4': 5,
  '14.1': 2,
  '14.2': 4,
  '14.3': 3,
  '15.1': 3,
  '15.2': 3,
  '15.3': 7,
  '16.1': 1,
  '16.2': 5,
  '16.3': 4,
  '16.4': 3,
  '16.5': 3,
  '17.1': 1,
  '17.2': 4,
  '17.3': 2,
}
const REQUIREMENTS = Object.entries(SECTIONS).flatMap(([section, count]) =>
  Array.from({ length: count }, (_, i) => `${section}.${i + 1}`),
)

const rowsOf = (document: string): string[][] =>
  readFileSync(join(FOLDER, document), 'utf8')
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
  it('have a row for each requirement of ASVS 5.0 up to level 2, and a test or a reason in it', () => {
    const rows = rowsOf('asvs.md').filter(([number]) => number !== 'no.')
    assert.deepEqual(rows.flatMap(([cell = '']) => numbersIn(cell)).toSorted(), REQUIREMENTS.toSorted())
    for (const [number, , shownBy = ''] of rows)
      assert.match(shownBy, /^(`[\w./-]+: |\*\*(Document|By reading|Operator|No|None here)\*\*)/, number)
  })

  for (const document of ['asvs.md', 'threat-model.md', 'questionnaire.md'])
    it(`name only tests that exist in ${document}`, () => {
      const rows = rowsOf(document)
      assert.ok(rows.length > 20)
      for (const cells of rows) {
        const requirement = cells[0] ?? ''
        assertNamedTests(cells.join(' '), { folder: 'test', requirement })
      }
    })
})
