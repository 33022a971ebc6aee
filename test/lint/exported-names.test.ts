import assert from 'node:assert/strict'
import { find, read } from '../support/project.ts'

/** Still to be mended. Add none. */
const DUPLICATES = ['Answer']

/** Its types have the names of the schemas of the API's document, from which they are generated. */
const GENERATED = 'apps/workspace/src/api/contract.ts'
const EXPORT =
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(const|let|function\*?|class|interface|type|enum) (\w+)/gm

const exportedNames = (file: string, text: string): string[] =>
  [...text.matchAll(EXPORT)]
    .filter(([, kind]) => file !== GENERATED || kind !== 'type')
    .map(([, , name = '']) => name)

describe('exported names', () => {
  it('exist once in the product', () => {
    const files = find('{apps,shared,infra}/**/*.{ts,tsx}')
    assert.ok(files.length > 300, `only ${files.length} modules`)
    const names = files.flatMap((file) => [...new Set(exportedNames(file, read(file)))])
    const duplicates = names.filter((name, i) => names.indexOf(name) < i)
    assert.deepEqual([...new Set(duplicates)].sort(), DUPLICATES)
  })
})
