import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { selectFiles, testParts } from '../support/test-parts.ts'

const ROOT = join(import.meta.dirname, '../..')
const FILES = ['test/api/a.test.ts', 'test/api/b.all.test.ts', 'test/apiary/c.test.ts']
const SLOW = ['test/browser/d.test.ts', 'test/local/e.test.ts', 'test/auth/processes.test.ts']

describe('the files of a run of the tests', () => {
  it('selects the files of the tier if no path is named', () => {
    const fast = ['test/api/a.test.ts', 'test/apiary/c.test.ts']
    assert.deepEqual(selectFiles([...FILES, ...SLOW], [], 'fast'), fast)
    assert.deepEqual(selectFiles([...FILES, ...SLOW], [], 'usual'), [...fast, ...SLOW])
    assert.deepEqual(selectFiles([...FILES, ...SLOW], [], 'all'), [...FILES, ...SLOW])
  })
})

describe('the parts of a run of the tests', () => {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT }).sort()
  const { stores, screens } = testParts(files)

  it('runs each file once', () => {
    assert.deepEqual([...stores, ...screens.flat()].sort(), files)
  })
})
