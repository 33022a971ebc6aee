import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { selectFiles, testParts } from '../support/test-parts.ts'

const ROOT = join(import.meta.dirname, '../..')
const FILES = ['test/api/a.test.ts', 'test/api/b.all.test.ts', 'test/apiary/c.test.ts']

describe('the files that a run of the tests is named', () => {
  it('are all but those of the second tier if none is', () => {
    assert.deepEqual(selectFiles(FILES, [], false), ['test/api/a.test.ts', 'test/apiary/c.test.ts'])
    assert.deepEqual(selectFiles(FILES, [], true), FILES)
  })

  it('are just these, whatever their tier', () => {
    const named = ['test/apiary/c.test.ts', join(ROOT, 'test/api/b.all.test.ts')]
    assert.deepEqual(selectFiles(FILES, named, false), ['test/api/b.all.test.ts', 'test/apiary/c.test.ts'])
  })

  it('are those of a folder and of its tier', () => {
    assert.deepEqual(selectFiles(FILES, ['test/api/'], false), ['test/api/a.test.ts'])
    assert.deepEqual(selectFiles(FILES, ['test/api'], true), ['test/api/a.test.ts', 'test/api/b.all.test.ts'])
  })

  it('are refused if one of them does not exist', () => {
    const missing = ['test/api/a.test.ts', 'test/api/missing.test.ts']
    assert.throws(() => selectFiles(FILES, missing, false), {
      message: 'no test file: test/api/missing.test.ts',
    })
  })
})

describe('the parts of a run of the tests', () => {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT }).sort()
  const { stores, screens } = testParts(files)

  it('have each file once', () => {
    assert.deepEqual([...stores, ...screens.flat()].sort(), files)
  })

  it('measure how a page loads before other screens have added data', () => {
    const loading = screens.find((part) => part.some((file) => file.includes('/loading.')))
    assert.equal(loading?.[0], 'test/browser/loading.all.test.ts')
  })
})
