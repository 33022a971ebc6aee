import assert from 'node:assert/strict'
import { read } from '../support/project.ts'
import { assertNamedTests } from './named-tests.ts'

describe('the tables of the RFCs', () => {
  for (const service of ['auth', 'api']) {
    const document = `apps/${service}/RFC.md`
    const rows = read(document)
      .split('\n')
      .filter((line) => line.startsWith('|') && !line.startsWith('|-'))
      .map((line) => line.split(' | '))
      .filter(([section]) => section !== '| §')

    it(`names only tests that exist in ${document}`, () => {
      for (const [, requirement = '', shownBy = ''] of rows)
        assertNamedTests(shownBy, { folder: `test/${service}`, requirement })
    })

    it(`gives a test or a reason for each requirement in ${document}`, () => {
      assert.ok(rows.length > 30)
      for (const [, requirement, shownBy = ''] of rows)
        assert.match(shownBy, /^(`[\w./-]+: |\*\*No\*\*: )/, requirement)
    })
  }
})
